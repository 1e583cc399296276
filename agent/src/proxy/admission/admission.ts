import type { Socket } from 'node:net'
import type { ClientOwners } from '../../host/process-lookup/client-owners.ts'
import type { Owner } from '../../host/process-lookup/socket-owners.ts'
import type { LiveConnections, Slot } from './live-connections.ts'

/**
 * Bounds the requests and tunnels that pass through the proxy at once, per program and in total.
 */
export interface Admission {
  /** A slot for an association, or for one target of its datagrams; null when it gets none. */
  enter(client: Socket): Promise<Slot | null>
  /**
   * A slot for one request or tunnel, which need not wait for the owner of its connection. The
   * connection is closed when its owner proves to hold too many.
   */
  enterEarly(client: Socket): Promise<Slot | null>
}

/** A process alone gets a quarter of all slots: it may hold one for every three free ones. */
const FREE_TO_ONE_OF_A_PROCESS = 3
/** A session, or another user, gets seven eighths of all: it may hold seven for each free one. */
const OF_A_KEY_TO_ONE_FREE = 7
/** Connections whose owners are looked up meanwhile may hold one for every four free ones. */
const FREE_TO_ONE_UNKNOWN = 4

/**
 * Grants slots by the number of free ones. The more processes and sessions hold many, the fewer
 * each gets, and a process that holds no slot finds one. A fork adds a process to its session, so
 * forking does not get a program beyond the share of a session.
 *
 * Owners are looked up only when a quarter of the slots is taken, because no share is exceeded
 * before. A lookup reads all of proc(5), so a request or tunnel does not wait for it while few do.
 */
export function createAdmission(live: LiveConnections, owners: ClientOwners): Admission {
  const unknown = new Set<Socket>()
  let counted: Tally | null = null

  /** One pass over all slots serves all that are decided in one turn of the event loop. */
  const tally = (): Tally => {
    if (counted !== null) return counted
    counted = createTally(live, owners)
    setImmediate(() => (counted = null))
    return counted
  }

  const enterKnown = (client: Socket, owner: Owner | null): Slot | null => {
    // Without proc(5) all owners are unknown, and one share would have to do for all programs.
    if (owner === null) return live.enter(client)
    const present = tally()
    if (!present.hasRoom(owner)) return null
    const slot = live.enter(client)
    if (slot !== null) present.add(owner, 1)
    return slot
  }

  /** For a connection that holds a slot already. */
  const settle = async (client: Socket): Promise<void> => {
    const forget = (): void => void unknown.delete(client)
    unknown.add(client)
    client.once('close', forget)
    const owner = await owners.ownerOf(client)
    client.off('close', forget)
    forget()
    if (owner === null || client.destroyed) return
    const present = tally()
    present.add(owner, -1)
    if (present.hasRoom(owner)) present.add(owner, 1)
    else client.destroy()
  }

  const areFew = (): boolean => live.size() < live.limit / (1 + FREE_TO_ONE_OF_A_PROCESS)
  const enter = async (client: Socket): Promise<Slot | null> => {
    if (areFew()) return live.enter(client)
    const owner = owners.known(client) ?? (await owners.ownerOf(client))
    return client.destroyed ? null : enterKnown(client, owner)
  }

  return {
    enter,
    async enterEarly(client) {
      const isOneOfFew = FREE_TO_ONE_UNKNOWN * (unknown.size + 1) <= live.limit - live.size()
      if (areFew() || owners.known(client) !== null || !isOneOfFew) return enter(client)
      const slot = live.enter(client)
      settle(client).catch(() => client.destroy())
      return slot
    },
  }
}

/** The slots of each process and fairness key, as far as owners are known. */
interface Tally {
  /** Whether this owner may hold one more. */
  hasRoom(owner: Owner): boolean
  add(owner: Owner, slots: 1 | -1): void
}

function createTally(live: LiveConnections, owners: ClientOwners): Tally {
  const held = new Map<string, number>()
  let free = live.limit - live.size()
  const heldBy = (name: string): number => held.get(name) ?? 0
  const count = ({ fairnessKey, process }: Owner, slots: number): void => {
    held.set(fairnessKey, heldBy(fairnessKey) + slots)
    if (process !== null) held.set(process, heldBy(process) + slots)
  }
  for (const client of live.clients()) {
    const owner = owners.known(client)
    if (owner !== null) count(owner, 1)
  }
  return {
    hasRoom({ fairnessKey, process }) {
      if (heldBy(fairnessKey) >= OF_A_KEY_TO_ONE_FREE * free) return false
      return process === null || heldBy(process) < Math.max(free / FREE_TO_ONE_OF_A_PROCESS, 1)
    },
    add(owner, slots) {
      count(owner, slots)
      free -= slots
    },
  }
}
