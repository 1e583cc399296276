import {
  MAX_REPORT_DETAIL,
  type Assurance,
  type BreakGlassStatus,
  type DeviceReport,
  type ProbeResult,
} from '@palisade/protocol'
import type { ActivePolicy, Enforced } from '../policy/decision/active-policy.ts'
import type { SyncRecord } from '../sync/update/sync-status.ts'

/**
 * Characters that the server refuses in a report. A message may quote the server, and so hold them.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Faults that the server knows by itself: it was unreachable or busy. Otherwise each machine of a
 * fleet would report them at once after an outage, and try to during it.
 */
const KNOWN_TO_THE_SERVER: ReadonlySet<string> = new Set([
  'unreachable',
  'timeout',
  'stopping',
  'busy',
])

/** The present report of this machine. */
export function describeReport(
  active: Pick<ActivePolicy, 'state' | 'revision'>,
  { last_error }: Pick<SyncRecord, 'last_error'>,
  {
    agent_version,
    grant,
    enforcement = {},
  }: {
    readonly agent_version: string
    readonly grant: BreakGlassStatus | null
    readonly enforcement?: EnforcementMembers
  },
): DeviceReport {
  const revision = active.revision()
  const report = {
    ...(revision === null ? {} : { revision }),
    state: active.state(),
    ...(grant === null ? {} : { break_glass: { grant_id: grant.id, begun_at: grant.begun_at } }),
    agent_version,
    ...enforcement,
  }
  if (last_error === null || KNOWN_TO_THE_SERVER.has(last_error.code)) return report
  const { code, message } = last_error
  return { ...report, error: { code, detail: cutLine(message) } }
}

export type EnforcementMembers = Pick<DeviceReport, 'enforcement' | 'assurance' | 'policy_digest'>

/** The members of a report that show whether the policy is in force, and which one. */
export function describeEnforcement(
  enforced: Enforced,
  { proxy }: { readonly proxy: ProbeResult | null },
  assurance: Assurance,
): EnforcementMembers {
  const isInForce = enforced.kind === 'bundle' && enforced.allows !== 'none'
  return {
    ...(proxy === null
      ? {}
      : {
          enforcement: { proxy: proxy.ok ? 'in_force' : 'failed' },
          assurance: assurance.class,
        }),
    ...(isInForce ? { policy_digest: enforced.bundle.bundle.digest } : {}),
  }
}

/** Cuts between characters, because half of a surrogate pair is not printable. */
function cutLine(text: string): string {
  const line = text.replaceAll(UNPRINTABLE, '\ufffd')
  const cut = line.slice(0, MAX_REPORT_DETAIL)
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut
}
