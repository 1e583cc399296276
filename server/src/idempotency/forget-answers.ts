import type { Log } from '../log/create-log.ts'
import { nextTurn } from '../next-turn.ts'
import type { KeptAnswers } from '../store/contract/server-state.ts'
import type { Store } from '../store/store.ts'

const INTERVAL_MS = 60 * 1000
/** Of one transaction: some milliseconds. */
const SLICE: KeptAnswers = { answers: 100, bytes: 4 * 2 ** 20 }

/**
 * Deletes kept answers that have expired. Not with the request that keeps one: the answers of an
 * hour of others took ten seconds in its transaction.
 */
export interface AnswerExpiry {
  /** Looks every minute from now on. */
  start(): void
  forgetDue(): Promise<void>
  /** Begins nothing more, and resolves when what was begun is over. */
  stop(): Promise<void>
}

export function createAnswerExpiry(deps: {
  readonly store: Pick<Store, 'read' | 'transaction'>
  readonly now: () => Date
  readonly log: Pick<Log, 'error'>
}): AnswerExpiry {
  const { store, now, log } = deps
  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null

  async function forgetDue(): Promise<void> {
    while (!isStopping) {
      const at = now().toISOString()
      const gone = await store.transaction((writer) => writer.idempotency.deleteExpired(at, SLICE))
      if (gone === 0) return
      await nextTurn()
    }
  }

  function look(): void {
    running = forgetDue()
      .catch((err: unknown) => log.error({ err }, 'kept answers that expired cannot be deleted'))
      .finally(wait)
  }

  function wait(): void {
    if (!isStopping) timer = setTimeout(look, INTERVAL_MS).unref()
  }

  return {
    start: wait,
    forgetDue,
    async stop() {
      isStopping = true
      clearTimeout(timer)
      await running
    },
  }
}
