import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER } from '../../history/author.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { nextTurn } from '../../platform/next-turn.ts'

const INTERVAL_MS = 5_000

/**
 * Completes revocations of more than a hundred tokens: writes the revocation of each token to its
 * row and the history. All of them are already refused since the commit of the revocation.
 */
export interface RevocationFinish extends BackgroundTask {
  finishDue(): Promise<void>
}

export function createRevocationFinish({
  store,
  log,
}: {
  readonly store: Pick<AuditedStore, 'read' | 'write'>
  readonly log: Pick<Log, 'error'>
}): RevocationFinish {
  async function finishDue(isStopping = () => false): Promise<void> {
    if (!(await store.read(({ accessTokens }) => accessTokens.hasPending()))) return
    while (!isStopping()) {
      const noted = await store.write(
        SERVER,
        async ({ accessTokens, enrolmentTokens }) =>
          (await accessTokens.revokePending()) ?? (await enrolmentTokens.revokePending()),
      )
      if (noted === null) return
      await nextTurn()
    }
  }

  const onError = (err: unknown): void => log.error({ err }, 'revocations cannot be finished')
  return {
    ...createBackgroundTask({ intervalMs: INTERVAL_MS, run: finishDue, onError }),
    finishDue: () => finishDue(),
  }
}
