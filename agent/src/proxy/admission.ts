import type { Socket } from 'node:net'
import type { ClientOwners } from './client-owners.ts'
import type { LiveConnections, Place } from './live-connections.ts'

/** What passes through the proxy at once, of all programs and of each. */
export interface Admission {
  /** A place for one request or tunnel of that connection; null when there is none for it. */
  enter(client: Socket): Promise<Place | null>
}

/** Of all the programs of a user whose processes this agent may not look at. */
const SHARES_OF_A_USER = 3

/**
 * Gives every process at most `share` places, so that one program never takes those of all others.
 * Owners are looked up only while more than a share is taken in all: before, none can exceed it.
 */
export function createAdmission(
  live: LiveConnections,
  owners: ClientOwners,
  share: number,
): Admission {
  return {
    async enter(client) {
      if (live.size() < share) return live.enter(client)
      const owner = await owners.ownerOf(client)
      if (client.destroyed) return null
      const held = live.clients().filter((other) => owners.known(other) === owner).length
      return held < mostOf(owner, share) ? live.enter(client) : null
    },
  }
}

/** Without proc(5) all are unknown: a share of theirs would be one for everybody. */
function mostOf(owner: string, share: number): number {
  if (owner === 'unknown') return Infinity
  return owner.startsWith('process ') ? share : SHARES_OF_A_USER * share
}
