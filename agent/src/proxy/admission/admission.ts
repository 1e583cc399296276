import type { Socket } from 'node:net'
import type { ClientOwners } from '../../programs/client-owners.ts'
import type { Owner } from '../../programs/socket-owners.ts'
import type { LiveConnections, Slot } from './live-connections.ts'

/**
 * Bounds the requests and tunnels that pass through the proxy at once, per program and in total.
 */
export interface Admission {
  /** A slot for one request or tunnel of that connection; null when it gets no slot. */
  enter(client: Socket): Promise<Slot | null>
}

/** A process alone gets a quarter of all slots: it may hold one for every three free ones. */
const FREE_TO_ONE_OF_A_PROCESS = 3
/** A session, or another user, gets seven eighths of all: it may hold seven for each free one. */
const OF_A_CROWD_TO_ONE_FREE = 7

/**
 * Grants slots by the number of free ones. The more processes and sessions hold many, the fewer
 * each gets, and a process that holds no slot finds one. A fork adds a process to its session, so
 * forking does not get a program beyond the share of a session.
 *
 * Owners are looked up only when a quarter of the slots is taken, because no share is exceeded
 * before.
 */
export function createAdmission(live: LiveConnections, owners: ClientOwners): Admission {
  return {
    async enter(client) {
      if (live.size() < live.limit / (1 + FREE_TO_ONE_OF_A_PROCESS)) return live.enter(client)
      const owner = await owners.ownerOf(client)
      if (client.destroyed) return null
      // Without proc(5) all owners are unknown, and one share would have to do for all programs.
      if (owner === null) return live.enter(client)
      const { ofCrowd, ofProcess } = countSlots(live, owners, owner)
      const free = live.limit - live.size()
      if (ofCrowd >= OF_A_CROWD_TO_ONE_FREE * free) return null
      if (owner.process !== null && ofProcess >= Math.max(free / FREE_TO_ONE_OF_A_PROCESS, 1))
        return null
      return live.enter(client)
    },
  }
}

function countSlots(
  live: LiveConnections,
  owners: ClientOwners,
  { crowd, process }: Owner,
): { readonly ofCrowd: number; readonly ofProcess: number } {
  let ofCrowd = 0
  let ofProcess = 0
  for (const client of live.clients()) {
    const other = owners.known(client)
    if (other?.crowd !== crowd) continue
    ofCrowd += 1
    if (other.process === process) ofProcess += 1
  }
  return { ofCrowd, ofProcess }
}
