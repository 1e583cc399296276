import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { runReplay } from '../../../server/src/evidence/replay/run-replay.ts'
import {
  EVIDENCE_FILE,
  openEvidenceReading,
} from '../../../server/src/evidence/store/open-evidence-store.ts'
import { makeJob, type Replayed } from './replay-job.ts'

/** One reading, from a process of its own. */
export interface ReplayReading {
  readonly tookMs: number
  readonly cpuMs: number
  /** Greatest resident memory of the process, in bytes. */
  readonly rss: number
}

const [kind, text = ''] = process.argv.slice(2)
const replayed = JSON.parse(text) as Replayed
const startedMs = performance.now()
const before = process.cpuUsage()
await (kind === 'scan' ? scan() : replay())
const { user, system } = process.cpuUsage(before)
const reading: ReplayReading = {
  tookMs: performance.now() - startedMs,
  cpuMs: (user + system) / 1000,
  rss: process.resourceUsage().maxRSS * 1024,
}
process.stdout.write(JSON.stringify(reading))

async function replay(): Promise<void> {
  const job = makeJob(replayed)
  const evidence = await openEvidenceReading(job.store)
  const { recorded, newly_denied } = await runReplay(job, evidence, () => undefined)
  await evidence.close()
  if (recorded.users !== replayed.users) throw new Error(`${recorded.users} users were read`)
  if (newly_denied.count === 0) throw new Error('the draft denies nothing')
}

/** The least that a replay must do: SQLite reads the same columns of every record. */
function scan(): void {
  const database = new DatabaseSync(join(replayed.dataDir, EVIDENCE_FILE), { readOnly: true })
  database
    .prepare(
      `SELECT COUNT(*), MAX(source), MAX(tuple), SUM(decisions), MIN(first_ms), MAX(last_ms)
       FROM records WHERE day > 0 AND org = 1`,
    )
    .get()
  database.close()
}
