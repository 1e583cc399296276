import type { Log } from '../operations/log/create-log.ts'
import { createBackgroundTask, type BackgroundTask } from '../platform/background-task.ts'
import type { EvidenceStore } from './store/evidence-store.ts'

/** Hourly, because a server that restarts every day would never come to a daily run. */
const INTERVAL_MS = 60 * 60 * 1000
const DAY_MS = 24 * INTERVAL_MS

/** Every hour removes the days of evidence that are older than the retention. */
export interface EvidenceRetention extends BackgroundTask {
  dropDue(): Promise<void>
  /** Records that were removed since the start and never exported. */
  neverExported(): number
}

/** Keeps `days` whole days and the present one, by UTC; 0 keeps everything for ever. */
export function createEvidenceRetention(deps: {
  readonly evidence: Pick<EvidenceStore, 'dropBefore' | 'dropUnexported'>
  readonly days: number
  readonly now: () => Date
  readonly log: Pick<Log, 'info' | 'error'>
}): EvidenceRetention {
  const { evidence, days, now, log } = deps

  let dropped = 0

  async function dropDue(): Promise<void> {
    if (days === 0) return
    const before = Math.floor(now().getTime() / DAY_MS) - days
    const unexported = await evidence.dropUnexported(before)
    if (unexported > 0) {
      dropped += unexported
      log.error({ records: unexported, days }, 'decision records were removed and never exported')
    }
    const removed = await evidence.dropBefore(before)
    if (removed > 0) log.info({ removed, days }, 'old decision records removed from the evidence')
  }

  const onError = (err: unknown): void => log.error({ err }, 'old evidence cannot be removed')
  return {
    ...createBackgroundTask({ intervalMs: INTERVAL_MS, run: dropDue, onError }),
    dropDue,
    neverExported: () => dropped,
  }
}
