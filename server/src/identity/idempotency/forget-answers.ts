import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { KeptAnswers } from '../../store/contract/server-state.ts'
import type { Store } from '../../store/store.ts'

const INTERVAL_MS = 60 * 1000
/** Of one transaction: some milliseconds. */
const SLICE: KeptAnswers = { answers: 100, bytes: 4 * 2 ** 20 }

/**
 * Deletes kept answers that have expired, every minute. Not with the request that keeps one: the
 * answers of an hour of others took ten seconds in its transaction.
 */
export interface AnswerExpiry extends BackgroundTask {
  forgetDue(): Promise<void>
}

export function createAnswerExpiry({
  store,
  now,
  log,
}: {
  readonly store: Pick<Store, 'transaction'>
  readonly now: () => Date
  readonly log: Pick<Log, 'error'>
}): AnswerExpiry {
  async function forgetDue(isStopping = () => false): Promise<void> {
    while (!isStopping()) {
      const at = now().toISOString()
      const gone = await store.transaction((writer) => writer.idempotency.deleteExpired(at, SLICE))
      if (gone === 0) return
      await nextTurn()
    }
  }

  const onError = (err: unknown): void =>
    log.error({ err }, 'kept answers that expired cannot be deleted')
  return {
    ...createBackgroundTask({ intervalMs: INTERVAL_MS, run: forgetDue, onError }),
    forgetDue: () => forgetDue(),
  }
}
