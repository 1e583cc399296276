import { quantile, single } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import { exchange } from '../load/requests.ts'
import { startServer, withServers } from '../server/start-server.ts'
import { PROGRAMS, ruleOf } from './fill-records.ts'
import type { Replayed } from './replay-job.ts'

/** Records in a data directory, and who may read them. */
export interface Audited extends Replayed {
  readonly auditor: { readonly username: string; readonly token: string }
}

const DAYS = 29
const DAY_MS = 24 * 60 * 60_000

/** Measures the first page of each combination of filters. */
export async function measureAudit({ dataDir, org, nowMs, auditor }: Audited): Promise<Rows> {
  return withServers({ server: await startServer(dataDir) }, async ({ server: { port } }) => {
    const token = await exchange(port, auditor.username, auditor.token)
    const took: number[] = []
    for (const query of listQueries(nowMs)) {
      const url = `http://127.0.0.1:${port}/v2/auditlogs/governance/${org}?${query}`
      const start = performance.now()
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      await answer.text()
      if (!answer.ok) throw new Error(`${query} was answered with ${answer.status}`)
      took.push(performance.now() - start)
    }
    const row = {
      queries: single(took.length),
      'p50 ms': single(quantile(took, 0.5)),
      'p95 ms': single(quantile(took, 0.95)),
      'most ms': single(Math.max(...took)),
    }
    return { 'first page': row }
  })
}

/** Every combination of the filters, over a day, a week and a month; common and rare values. */
function listQueries(nowMs: number): readonly string[] {
  const filters: readonly (readonly [string, readonly string[]])[] = [
    ['username', ['user-7', 'user-absent']],
    ['device_id', ['device-7']],
    ['decision', ['AUDIT_DECISION_DENY']],
    ['action_type', ['network_egress', 'filesystem_mount']],
    ['agent', [PROGRAMS[1]]],
    ['rule_id', [ruleOf(7)]],
    ['resource_id', ['host-77.zone-77.example']],
    ['query', ['ost-1999', 'absent']],
  ]
  let combinations: readonly URLSearchParams[] = [new URLSearchParams()]
  for (const [name, values] of filters)
    combinations = combinations.flatMap((each) => [
      each,
      ...values.map((value) => new URLSearchParams([...each, [name, value]])),
    ])
  const spans = [1, 7, DAYS].map((days) => new Date(nowMs - days * DAY_MS).toISOString())
  return combinations.flatMap((each) =>
    spans.map((from) => new URLSearchParams([...each, ['from', from]]).toString()),
  )
}
