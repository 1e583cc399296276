import type { Socket } from 'node:net'
import type { ClientOwners } from './client-owners.ts'
import type { LiveConnections, Place } from './live-connections.ts'

/** Bounds what passes through the proxy at once, of each program and of all. */
export interface Admission {
  /** A place for one request or tunnel of that connection; null when there is none for it. */
  enter(client: Socket): Promise<Place | null>
}

/** A process alone gets a quarter of all places by this: it holds one for three that are free. */
const FREE_TO_ONE_OF_A_PROCESS = 3
/** A session, or another user, gets seven eighths of all: it holds seven for one that is free. */
const OF_A_CROWD_TO_ONE_FREE = 7

/**
 * Gives places by the number that is still free. The more processes and sessions hold many, the
 * fewer each gets, and a process that holds none finds one. A fork adds a process to its session,
 * so a program does not get more than the share of a session by forking.
 *
 * Owners are looked up only once a quarter of the places is taken: before, no share is exceeded.
 */
export function createAdmission(live: LiveConnections, owners: ClientOwners): Admission {
  return {
    async enter(client) {
      if (live.size() < live.limit / (1 + FREE_TO_ONE_OF_A_PROCESS)) return live.enter(client)
      const owner = await owners.ownerOf(client)
      if (client.destroyed) return null
      // Without proc(5) all are unknown: a share of theirs would be one for everybody.
      if (owner === null) return live.enter(client)
      const holders = live.clients().map((other) => owners.known(other))
      const ofCrowd = holders.filter((other) => other?.crowd === owner.crowd)
      const ofProcess = ofCrowd.filter((other) => other?.process === owner.process)
      const free = live.limit - live.size()
      if (ofCrowd.length >= OF_A_CROWD_TO_ONE_FREE * free) return null
      if (
        owner.process !== null &&
        ofProcess.length >= Math.max(free / FREE_TO_ONE_OF_A_PROCESS, 1)
      )
        return null
      return live.enter(client)
    },
  }
}
