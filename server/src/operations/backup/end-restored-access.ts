import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { OPERATOR } from '../../history/author.ts'

/** Requests of one transaction, each with its event. */
const AT_ONCE = 500
/** Later than every end of a request or a grant. */
const NEVER = '9999-12-31T23:59:59.999Z'
const ANSWER = 'the server was restored from a backup; ask again'

/** Open requests and grants that ended. */
export interface EndedAccess {
  readonly grants: number
  readonly requests: number
}

/** A line for the operator. */
export function describeEnded({ grants, requests }: EndedAccess): string {
  return `ended ${grants} grants of access and ${requests} open requests: some may have ended since`
}

/**
 * Must be done on every restored database: a grant that was revoked after the backup would be in
 * force again, on machines that had heard of its end, and no one would know which.
 */
export async function endRestoredAccess(
  store: Pick<AuditedStore, 'write'>,
  now: Date,
): Promise<EndedAccess> {
  let [grants, requests] = [0, 0]
  const endSome = (): Promise<number> =>
    store.write(OPERATOR, async ({ accessRequests }) => {
      const open = await accessRequests.listDue(NEVER, AT_ONCE)
      for (const request of open) {
        const isGrant = request.state === 'approved'
        const ended = {
          ...request,
          state: isGrant ? ('revoked' as const) : ('rejected' as const),
          due_at: null,
          decided_at: now.toISOString(),
          decided_by: OPERATOR.actor,
          answer: ANSWER,
        }
        await accessRequests.update(ended, request.state)
        if (isGrant) grants += 1
        else requests += 1
      }
      return open.length
    })
  while ((await endSome()) > 0);
  return { grants, requests }
}
