import type { DeviceReport } from '@palisade/protocol'
import type { Log } from '../../operations/log/create-log.ts'
import type { DeviceReportRecord } from '../../store/distribution-records.ts'
import type { Store } from '../../store/store.ts'
import { createWriteBehind } from '../../store/write-behind.ts'

/** A fleet that reports at once is written with a few statements a second. */
const INTERVAL_MS = 1000

/**
 * The newest report of each device. A report lost with a killed process is replaced by the next
 * one.
 */
export interface ReportLog {
  record(deviceId: string, report: DeviceReport, at: Date): void
  /** Writes the remaining reports; no record may follow. */
  close(): Promise<void>
}

export function openReportLog({ store, log }: { store: Store; log: Log }): ReportLog {
  const reports = createWriteBehind<DeviceReportRecord>({
    store,
    intervalMs: INTERVAL_MS,
    write: (writer, entries) => writer.deviceReports.put(entries.map(([, report]) => report)),
    onFailure: (err) => log.warn({ err }, 'reports of devices could not be written'),
  })
  return {
    record(device_id, report, at) {
      const { revision, state, error, break_glass, agent_version } = report
      reports.record(device_id, {
        device_id,
        reported_at: at.toISOString(),
        revision: revision ?? null,
        state,
        error_code: error?.code ?? null,
        error_detail: error?.detail ?? null,
        grant_id: break_glass?.grant_id ?? null,
        grant_begun_at: break_glass?.begun_at ?? null,
        agent_version,
        ...enforcementOf(report),
      })
    },
    close: () => reports.close(),
  }
}

function enforcementOf({
  enforcement,
  assurance,
  policy_digest,
}: DeviceReport): Pick<DeviceReportRecord, 'proxy_enforcement' | 'assurance' | 'policy_digest'> {
  return {
    proxy_enforcement: enforcement?.proxy ?? null,
    assurance: assurance ?? null,
    policy_digest: policy_digest ?? null,
  }
}
