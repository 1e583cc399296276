import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { KeptAnswers } from '../../store/aggregates/credentials/idempotency.ts'
import type { Store } from '../../store/store.ts'

const INTERVAL_MS = 60 * 1000
/** The size of one transaction, which takes a few milliseconds. */
const SLICE: KeptAnswers = { answers: 100, bytes: 4 * 2 ** 20 }

/**
 * Deletes expired answers every minute. A request must not delete them in its own transaction,
 * which would take seconds after a busy hour.
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
    log.error({ err }, 'expired answers of idempotent requests cannot be deleted')
  return {
    ...createBackgroundTask({ intervalMs: INTERVAL_MS, run: forgetDue, onError }),
    forgetDue: () => forgetDue(),
  }
}
