import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER } from '../../history/author.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import { nextTurn } from '../../platform/next-turn.ts'

const INTERVAL_MS = 5_000
/** Ended by one transaction. */
const SLICE = 50

/** Ends requests whose time for an answer is over, and grants whose time is over. */
export interface AccessExpiry extends BackgroundTask {
  endDue(): Promise<void>
}

/**
 * Machines end a grant by themselves, and no assignment has one that is over; this leaves the
 * event. It happens once, also with several servers: an update is conditional on the state.
 */
export function createAccessExpiry({
  store,
  now,
  log,
}: {
  readonly store: Pick<AuditedStore, 'read' | 'write'>
  readonly now: () => Date
  readonly log: Pick<Log, 'error'>
}): AccessExpiry {
  async function endSome(): Promise<number> {
    const at = now().toISOString()
    const due = await store.read(({ accessRequests }) => accessRequests.listDue(at, SLICE))
    if (due.length > 0)
      await store.write(SERVER, async ({ accessRequests }) => {
        for (const request of due) {
          const state = request.state === 'pending' ? 'lapsed' : 'expired'
          await accessRequests.update({ ...request, state, due_at: null }, request.state)
        }
      })
    return due.length
  }

  async function endDue(isStopping = () => false): Promise<void> {
    while (!isStopping() && (await endSome()) === SLICE) await nextTurn()
  }

  const onError = (err: unknown): void =>
    log.error({ err }, 'access requests whose time is over cannot be ended')
  return {
    ...createBackgroundTask({ intervalMs: INTERVAL_MS, run: endDue, onError }),
    endDue: () => endDue(),
  }
}
