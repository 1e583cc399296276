import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceStore } from '../evidence-store.ts'

type Losses = Awaited<ReturnType<EvidenceStore['losses']>>

/** See `EvidenceStore.losses`. */
export function createListLosses(connection: Connection): EvidenceStore['losses'] {
  const select = connection.prepare<Losses[number]>(
    `SELECT device_id, reason, CAST(SUM(lost) AS BIGINT) AS lost, MAX(at_ms) AS at_ms FROM losses
     WHERE org = (SELECT id FROM organizations WHERE name = ?) AND at_ms >= ? AND at_ms < ?
     GROUP BY device_id, reason ORDER BY device_id, reason`,
  )
  return (org, { fromMs, toMs }) => select.all(org, fromMs, toMs)
}
