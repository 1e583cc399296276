import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { runReplay } from '../../../server/src/evidence/replay/run-replay.ts'
import {
  EVIDENCE_FILE,
  openEvidenceReading,
} from '../../../server/src/evidence/store/open-evidence-store.ts'
import type { ReplayExtent } from './extent.ts'
import { makeJob } from './make-job.ts'

/** One reading, from a process of its own. */
export interface ReplayReading {
  readonly wall_ms: number
  readonly cpu_ms: number
  /** Greatest resident memory of the process, in bytes. */
  readonly rss: number
  readonly newly_denied: number
}

const [folder = '', what, text = ''] = process.argv.slice(2)
const extent = JSON.parse(text) as ReplayExtent
const startedAt = performance.now()
const before = process.cpuUsage()
const newly_denied = what === 'scan' ? scan() : await replay()
const { user, system } = process.cpuUsage(before)
const reading: ReplayReading = {
  wall_ms: performance.now() - startedAt,
  cpu_ms: (user + system) / 1000,
  rss: process.resourceUsage().maxRSS * 1024,
  newly_denied,
}
process.stdout.write(JSON.stringify(reading))

async function replay(): Promise<number> {
  const job = makeJob(folder, extent)
  const evidence = await openEvidenceReading(job.store)
  const result = await runReplay(job, evidence, () => undefined)
  await evidence.close()
  const { recorded, newly_denied: denied } = result
  if (recorded.users !== extent.users) throw new Error(`${recorded.users} users were read`)
  return denied.count
}

/** The least that a replay must do: SQLite reads the same columns of every record. */
function scan(): number {
  const database = new DatabaseSync(join(folder, EVIDENCE_FILE), { readOnly: true })
  database
    .prepare(
      `SELECT COUNT(*), MAX(source), MAX(tuple), SUM(decisions), MIN(first_ms), MAX(last_ms)
       FROM records WHERE day > 0 AND org = 1`,
    )
    .get()
  database.close()
  return 0
}
