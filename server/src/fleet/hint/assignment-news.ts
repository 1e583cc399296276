import type { Hint } from '@palisade/protocol'
import { nextTurn } from '../../platform/next-turn.ts'
import type { WaiterKey, WaitingRoom } from './waiting-room.ts'
import type { Changes } from './watch-revisions.ts'

/** Asked in one turn. */
const AT_ONCE = 64

/** A machine that may wait for a later assignment. */
export interface AssignmentWaiter extends WaiterKey {
  readonly since: number | null
  /** The user of the device; null without one. */
  readonly user: string | null
  /** The version of the assignment that the machine has; null when it asks for none. */
  readonly assignment: number | null
  /** The newest assignment. Rejects when the machine may not be told any more. */
  readonly confirm: () => Promise<{ readonly assignmentVersion: number }>
  readonly resolve: (hint: Hint) => void
  readonly reject: (error: unknown) => void
}

/** Tells machines of later assignments, as after a change of grants. */
export interface AssignmentNews<W> {
  /** Answers a machine with a later assignment; any other goes on waiting. */
  tell(waiter: W): Promise<void>
  /** Machines of these users; null for all. No other machine is told. */
  tellHolders(holders: Changes['holders']): Promise<void>
}

/** `revisionOf` an organization is null where it has to be read again. */
export function createAssignmentNews<W extends AssignmentWaiter>(
  room: WaitingRoom<W>,
  revisionOf: (org: string) => number | null,
): AssignmentNews<W> {
  async function tell(waiter: W): Promise<void> {
    try {
      const { assignmentVersion } = await waiter.confirm()
      if (assignmentVersion <= (waiter.assignment ?? assignmentVersion)) return
      const revision = revisionOf(waiter.org) ?? waiter.since
      // One that knows no revision is told of it, and then polls as well.
      if (revision === null || !room.leave(waiter)) return
      waiter.resolve({ revision, spread_seconds: 0, assignment: assignmentVersion })
    } catch (error) {
      if (room.leave(waiter)) waiter.reject(error)
    }
  }

  return {
    tell,
    async tellHolders(holders) {
      if (holders?.length === 0) return
      const names = holders && new Set(holders.map(({ org, username }) => `${org} ${username}`))
      const due = [...room.all()].filter(
        ({ org, user, assignment }) =>
          assignment !== null && user !== null && names?.has(`${org} ${user}`) !== false,
      )
      for (let first = 0; first < due.length; first += AT_ONCE) {
        await Promise.all(due.slice(first, first + AT_ONCE).map(tell))
        await nextTurn()
      }
    },
  }
}
