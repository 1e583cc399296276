import type { Log } from '../operations/log/create-log.ts'
import type { Sources } from '../platform/sources.ts'
import type { Store } from '../store/store.ts'
import { openReportLog, type ReportLog } from './machines/record-reports.ts'
import { createHints, type HintLimits, type Hints } from './hint/hints.ts'
import { rememberLastSeen, type LastSeen } from '../views/last-seen.ts'
import type { DeviceTokens } from '../identity/device/device-tokens.ts'
import { openProofs, type ProofSettings } from '../identity/device/open-proofs.ts'
import type { Proofs } from '../identity/device/require-proof.ts'
import { createViewService, type ViewService } from '../views/view-service.ts'

/** Every server of one PostgreSQL has seen a change by then: it asks 400 ms after the last time. */
const SETTLE_MS = 450

/** The services that answer machines while the server runs. */
export interface Machines {
  readonly tokens: DeviceTokens
  readonly proofs: Proofs
  readonly lastSeen: LastSeen
  readonly reports: ReportLog
  readonly views: ViewService
  /** Must be closed before the requests that wait for a hint. Null when hints are turned off. */
  readonly hints: Hints | null
  /** Call it after the last request: writes the values that are still in memory. */
  close(): Promise<void>
}

/** How machines prove their identity, and how fast they hear of changes. */
export interface MachineSettings extends ProofSettings {
  /** How exactly the time of the last poll is kept. */
  readonly lastSeenMs: number
  /** Null for SQLite, where every change is made by this server. */
  readonly databaseUrl: string | null
  readonly hints: HintLimits
}

/** Composes the services that answer machines. */
export async function composeMachines(deps: {
  readonly settings: MachineSettings
  readonly store: Store
  readonly log: Log
  readonly sources: Pick<Sources, 'now' | 'random'>
}): Promise<Machines> {
  const { settings, store, log } = deps
  const { now, random } = deps.sources
  const lastSeen = rememberLastSeen({ store, intervalMs: settings.lastSeenMs, log })
  const reports = openReportLog({ store, log })
  const { tokens, proofs } = await openProofs({ settings, store, now, random })
  const views = createViewService({ store, lastSeen, tokens, now, random })
  return {
    tokens,
    proofs,
    lastSeen,
    reports,
    views,
    hints: openHints(settings, store),
    async close() {
      await views.close()
      await lastSeen.close()
      await reports.close()
    },
  }
}

function openHints(
  { hints, databaseUrl }: Pick<MachineSettings, 'databaseUrl' | 'hints'>,
  store: Store,
): Hints | null {
  if (hints.longestMs === 0) return null
  return createHints({ store, limits: hints, settleMs: databaseUrl === null ? 0 : SETTLE_MS })
}
