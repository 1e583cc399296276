import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER } from '../../history/author.ts'
import { createRateLimiter } from '../../identity/limits/rate-limiter.ts'
import type { Log } from '../../operations/log/create-log.ts'
import type { ExceededLimit } from '../store/evidence-limits.ts'
import type { Ingested, Sender } from './ingest-service.ts'

/** A machine that two others imitate makes a mark with each batch. */
const NOTED_EVERY_MS = 60 * 60_000

/** Notes an event for each kind of mark of a device, once an hour. */
export function noteMarks(
  store: Pick<AuditedStore, 'note'>,
  log: Log,
  monotonicMs: () => number,
): (sender: Sender, mark: NonNullable<Ingested['mark']>) => void {
  const noted = createRateLimiter({ most: 1, windowMs: NOTED_EVERY_MS }, monotonicMs)
  return ({ org, deviceId, username }, { kind: mark, missing }) => {
    const key = `${deviceId} ${mark}`
    if (noted.waitSeconds(key) > 0) return
    noted.add(key)
    void store
      .note(SERVER, {
        scope: { org },
        kind: 'device.records_marked',
        subject: { id: deviceId, name: username },
        before: null,
        after: { mark, ...(missing === 0 ? {} : { missing_lines: missing }) },
      })
      .catch((err: unknown) => log.warn({ err, device_id: deviceId, mark }, 'a mark was not noted'))
  }
}

/** Logs a warning for each device and limit, once an hour. */
export function warnOfLimits(
  log: Log,
  monotonicMs: () => number,
): (sender: Sender, limit: ExceededLimit) => void {
  const warned = createRateLimiter({ most: 1, windowMs: NOTED_EVERY_MS }, monotonicMs)
  return ({ org, deviceId }, limit) => {
    const key = `${deviceId} ${limit}`
    if (warned.waitSeconds(key) > 0) return
    warned.add(key)
    log.warn({ org, device_id: deviceId, limit }, 'decision records beyond a limit were not stored')
  }
}
