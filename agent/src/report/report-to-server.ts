import type { DeviceReport } from '@palisade/protocol'
import type { AgentLog } from '../host/agent-log.ts'
import type { BreakGlass } from '../grants/break-glass/break-glass.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { ProbeResults } from '../probe/proxy/probe-results.ts'
import type { SyncRecord } from '../sync/update/sync-status.ts'
import type { Fetched, FetchFile } from '../sync/transport/fetch-file.ts'
import { describeEnforcement, describeReport } from './describe-report.ts'
import { createReporter, type Reporter } from './reporter.ts'

const PATH = '/api/v1/device/report'
const MAX_RECEIPT_BYTES = 1024

/** Creates a reporter of this machine's state and of its last fetch attempt. */
export function reportToServer(deps: {
  readonly active: Pick<ActivePolicy, 'enforced' | 'state' | 'revision' | 'subscribe'>
  readonly breakGlass: Pick<BreakGlass, 'inForce'>
  readonly record: () => SyncRecord
  readonly probes: Pick<ProbeResults, 'all' | 'assurance'>
  readonly fetchFile: FetchFile
  readonly version: string
  readonly random: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly log: Pick<AgentLog, 'debug'>
}): Reporter {
  const { active, breakGlass, record, probes, fetchFile, log, version: agent_version } = deps
  const reporter = createReporter({
    read: () =>
      describeReport(active, record(), {
        agent_version,
        grant: breakGlass.inForce(),
        enforcement: describeEnforcement(active.enforced(), probes.all(), probes.assurance()),
      }),
    async send(report, signal) {
      const post = (sent: DeviceReport): Promise<Fetched> => {
        const body = JSON.stringify(sent)
        return fetchFile({ path: PATH, maxBytes: MAX_RECEIPT_BYTES, body }, signal)
      }
      const { assurance, ...known } = report
      const first = await post(report)
      // A server of an earlier version refuses the member, and with it the whole report.
      const isUnknown = first.kind === 'fault' && first.code === 'http_status'
      const answer = isUnknown && assurance !== undefined ? await post(known) : first
      if (answer.kind === 'body') return null
      log.debug({ answer }, 'the report was not received')
      return { retryAfterMs: (answer.kind === 'fault' && answer.retryAfterMs) || null }
    },
    random: deps.random,
    uptime: deps.uptime,
  })
  active.subscribe(() => reporter.notice())
  return reporter
}
