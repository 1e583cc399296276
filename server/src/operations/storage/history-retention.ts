import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import type { Log } from '../log/create-log.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER } from '../../history/author.ts'
import { pruneHistory } from '../../history/prune-history.ts'

const INTERVAL_MS = 60 * 60 * 1000
const DAY_MS = 24 * INTERVAL_MS
const MIB = 1024 * 1024
/** Share of the quota from which on the log says so. */
const WARN_AT = 0.8
/** Webhooks that have not had an event keep it for so many times the retention. */
const PATIENCE = 2

/** Every hour removes events older than the retention, and warns of full histories. */
export interface HistoryRetention extends BackgroundTask {
  pruneDue(): Promise<void>
}

/** `days` 0 keeps every event for ever; `maxMib` 0 is no quota. */
export function createHistoryRetention(deps: {
  readonly store: AuditedStore
  readonly days: number
  readonly maxMib: number
  readonly now: () => Date
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}): HistoryRetention {
  const { store, days, maxMib, now, log } = deps

  async function pruneOne(org: string): Promise<void> {
    const ageMs = (times: number) => new Date(now().getTime() - times * days * DAY_MS).toISOString()
    const limits = { before: ageMs(1), undeliveredBefore: ageMs(PATIENCE) }
    const outcome = await pruneHistory(deps, org, limits, SERVER)
    if (!outcome.ok) {
      const { sequence } = outcome
      log.error({ org, sequence }, 'old events cannot be removed: the history is damaged')
      return
    }
    const { removed, skipped } = outcome
    if (removed > 0) log.info({ org, removed }, 'old events removed from the history')
    if (skipped.length > 0) log.warn({ org, skipped }, 'events removed before their delivery')
  }

  async function warnOfSize(org: string): Promise<void> {
    if (maxMib === 0) return
    const mib = (await store.read(({ events }) => events.bytes(org))) / MIB
    if (mib >= WARN_AT * maxMib)
      log.warn({ org, mib: Math.floor(mib), max_mib: maxMib }, 'the history is full or nearly full')
  }

  async function pruneDue(isStopping = () => false): Promise<void> {
    for (const org of await store.read((reader) => reader.organizations.names())) {
      if (isStopping()) return
      if (days > 0) await pruneOne(org)
      await warnOfSize(org)
    }
  }

  const onError = (err: unknown): void => log.error({ err }, 'old events cannot be removed')
  return {
    ...createBackgroundTask({ intervalMs: INTERVAL_MS, run: pruneDue, onError }),
    pruneDue: () => pruneDue(),
  }
}
