import type { Store, StoreReader } from '../../store/store.ts'
import { baseOf, viewRefOf } from '../assigned-view.ts'
import type { ViewRef } from '../inspect-view.ts'
import { findViewSecret } from '../content/view-id.ts'
import { createViewPublisher } from './view-publisher.ts'

export interface SignedViews {
  readonly signed: number
  /** Why the others could not be signed, each reason once. */
  readonly refused: readonly string[]
}

/** Signs the due files of every view that a machine of the organization may fetch. */
export async function signAllViews(
  store: Store,
  org: string,
  now: () => Date,
): Promise<SignedViews> {
  const viewRefs = await store.read((reader) => listViewRefs(reader, org))
  const publisher = createViewPublisher({ store, now })
  const outcomes = await Promise.allSettled(viewRefs.map((viewRef) => publisher.current(viewRef)))
  const refused = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [(outcome.reason as Error).message] : [],
  )
  return { signed: outcomes.length - refused.length, refused: [...new Set(refused)] }
}

/** The views of the users of all machines; a view without such a user is signed on request. */
async function listViewRefs(reader: StoreReader, org: string): Promise<ViewRef[]> {
  const secret = await findViewSecret(reader, org)
  if (secret === null) return []
  const rollout = await reader.rollouts.findOpen(org)
  const bases = rollout === null ? [null] : [null, baseOf(rollout)]
  const viewRefs = new Map<string, ViewRef>()
  for (const username of await reader.devices.listLiveUsers(org)) {
    const teams = username === null ? [] : await reader.teams.listOfUser(org, username)
    for (const base of bases) {
      const viewRef = viewRefOf(secret, org, { teams, base })
      viewRefs.set(viewRef.id, viewRef)
    }
  }
  return [...viewRefs.values()]
}
