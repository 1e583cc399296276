import type { Config } from '../config/config.ts'
import type { Log } from '../log/create-log.ts'
import type { Sources } from '../sources.ts'
import type { Store } from '../store/store.ts'
import { openReportLog, type ReportLog } from './fleet/record-reports.ts'
import { rememberLastSeen, type LastSeen } from './last-seen.ts'
import type { DeviceTokens } from './proof/device-tokens.ts'
import { openProofs } from './proof/open-proofs.ts'
import type { Proofs } from './proof/require-proof.ts'
import { createViewService, type ViewService } from './views/view-service.ts'

/** What machines are answered by, while the server runs. */
export interface Machines {
  readonly tokens: DeviceTokens
  readonly proofs: Proofs
  readonly lastSeen: LastSeen
  readonly reports: ReportLog
  readonly views: ViewService
  /** Once no request is left: writes what is still in memory. */
  close(): Promise<void>
}

export async function openMachines(deps: {
  readonly config: Pick<Config, 'publicUrl' | 'deviceTokenMinutes' | 'lastSeenMs'>
  readonly store: Store
  readonly log: Log
  readonly sources: Sources
}): Promise<Machines> {
  const { config, store, log, sources } = deps
  const lastSeen = rememberLastSeen({ store, intervalMs: config.lastSeenMs, log })
  const reports = openReportLog({ store, log })
  const proving = await openProofs({ config, store, sources })
  const views = createViewService({ store, lastSeen, ...proving, ...sources })
  return {
    ...proving,
    lastSeen,
    reports,
    views,
    async close() {
      await views.close()
      await lastSeen.close()
      await reports.close()
    },
  }
}
