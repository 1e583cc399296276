import type { Config } from '../config/config.ts'
import type { Log } from '../operations/log/create-log.ts'
import type { Sources } from '../platform/sources.ts'
import type { Store } from '../store/store.ts'
import { openReportLog, type ReportLog } from './machines/record-reports.ts'
import { createHints, type Hints } from './hint/hints.ts'
import { rememberLastSeen, type LastSeen } from '../views/last-seen.ts'
import type { DeviceTokens } from '../identity/device/device-tokens.ts'
import { openProofs } from '../identity/device/open-proofs.ts'
import type { Proofs } from '../identity/device/require-proof.ts'
import { createViewService, type ViewService } from '../views/view-service.ts'

/** Every server of one PostgreSQL has seen a change by then: it asks 400 ms after the last time. */
const SETTLE_MS = 450

/** What machines are answered by, while the server runs. */
export interface Machines {
  readonly tokens: DeviceTokens
  readonly proofs: Proofs
  readonly lastSeen: LastSeen
  readonly reports: ReportLog
  readonly views: ViewService
  /** To be closed before the requests that wait for one are. Null where nobody is told. */
  readonly hints: Hints | null
  /** Once no request is left: writes what is still in memory. */
  close(): Promise<void>
}

export async function openMachines(deps: {
  readonly config: Pick<
    Config,
    'publicUrl' | 'deviceTokenMinutes' | 'lastSeenMs' | 'databaseUrl' | 'hints'
  >
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
    hints: openHints(config, store),
    async close() {
      await views.close()
      await lastSeen.close()
      await reports.close()
    },
  }
}

function openHints(
  { hints, databaseUrl }: Pick<Config, 'databaseUrl' | 'hints'>,
  store: Store,
): Hints | null {
  if (hints.longestMs === 0) return null
  return createHints({ store, limits: hints, settleMs: databaseUrl === null ? 0 : SETTLE_MS })
}
