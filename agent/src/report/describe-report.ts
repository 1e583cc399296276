import { MAX_REPORT_DETAIL, type BreakGlassStatus, type DeviceReport } from '@palisade/protocol'
import type { ActivePolicy } from '../decision/active-policy.ts'
import type { SyncRecord } from '../sync/update/sync-status.ts'

/** What the server takes no report with; what it once said itself may be in a message. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * The server knows by itself that it was not there, or had no time. After an outage each machine of
 * a fleet would say so at once, and during it try to.
 */
const KNOWN_TO_THE_SERVER: ReadonlySet<string> = new Set([
  'unreachable',
  'timeout',
  'stopping',
  'busy',
])

/** What this machine says of itself now. */
export function describeReport(
  active: Pick<ActivePolicy, 'state' | 'revision'>,
  { last_error }: Pick<SyncRecord, 'last_error'>,
  {
    agent_version,
    grant,
  }: { readonly agent_version: string; readonly grant: BreakGlassStatus | null },
): DeviceReport {
  const revision = active.revision()
  const report = {
    ...(revision === null ? {} : { revision }),
    state: active.state(),
    ...(grant === null ? {} : { break_glass: { grant_id: grant.id, begun_at: grant.begun_at } }),
    agent_version,
  }
  if (last_error === null || KNOWN_TO_THE_SERVER.has(last_error.code)) return report
  const { code, message } = last_error
  return { ...report, error: { code, detail: cutLine(message) } }
}

/** Cut between characters: half of one is not printable either. */
function cutLine(text: string): string {
  const line = text.replaceAll(UNPRINTABLE, '\ufffd')
  const cut = line.slice(0, MAX_REPORT_DETAIL)
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut
}
