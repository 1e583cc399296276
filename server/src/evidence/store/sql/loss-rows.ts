import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceLoss } from '../evidence-record.ts'
import type { EvidenceStore } from '../evidence-store.ts'

/** The sum of many losses may exceed the numbers that an answer can hold. */
const MOST = String(Number.MAX_SAFE_INTEGER)

/** See `EvidenceStore.losses`. */
export function createListLosses(connection: Connection): EvidenceStore['losses'] {
  const select = connection.prepare<EvidenceLoss>(
    `SELECT reason,
       CAST(CASE WHEN SUM(lost) > ${MOST} THEN ${MOST} ELSE SUM(lost) END AS BIGINT) AS lost,
       MAX(at_ms) AS at_ms FROM losses
     WHERE org = (SELECT id FROM organizations WHERE name = ?) AND device_id = ?
       AND at_ms >= ? AND at_ms < ?
     GROUP BY reason ORDER BY reason`,
  )
  return (org, deviceId, { fromMs, toMs }) => select.all(org, deviceId, fromMs, toMs)
}
