import type { Socket } from 'node:net'
import { setTimeout as rest } from 'node:timers/promises'
import type { FindOwners, Owner } from './socket-owners.ts'

/**
 * A look serves all who wait for it. It takes at most a tenth of the processor, or comes this late.
 */
const RESTS_A_LOOK = 9
const MAX_REST_MS = 500

/** Which program a connection of the proxy comes from. */
export interface ClientOwners {
  /**
   * Looks for one that was not looked for yet; null where it cannot be found. A look ends those
   * connections that no process has any more: no answer can reach them, and they keep places.
   */
  ownerOf(client: Socket): Promise<Owner | null>
  /** Null for one that was not looked for, or not found. */
  known(client: Socket): Owner | null
}

/** `clients` are all connections there are; one look finds the owners of all of them. */
export function createClientOwners(
  clients: () => Iterable<Socket>,
  findOwners: FindOwners,
): ClientOwners {
  const owners = new WeakMap<Socket, Owner | null>()
  let rested: Promise<unknown> = Promise.resolve()
  let coming: Promise<void> | null = null

  /** How long it took, in milliseconds. */
  async function look(): Promise<number> {
    const beganMs = performance.now()
    const unknown = [...clients()].filter((client) => !owners.has(client))
    const ends = unknown.map(({ remoteAddress = '', remotePort = 0 }) => ({
      address: remoteAddress,
      port: remotePort,
    }))
    const found = await findOwners(ends)
    for (const [index, client] of unknown.entries()) {
      const owner = found[index] ?? null
      owners.set(client, owner === 'closed' ? null : owner)
      if (owner === 'closed') client.destroy()
    }
    return performance.now() - beganMs
  }

  async function lookNow(): Promise<void> {
    coming = null
    const looked = look()
    rested = looked.then(
      (tookMs) => rest(Math.min(RESTS_A_LOOK * tookMs, MAX_REST_MS), undefined, { ref: false }),
      () => {},
    )
    await looked
  }

  /** The next look that begins: one under way may have missed a connection that is new. */
  function lookSoon(): Promise<void> {
    coming ??= rested.then(lookNow)
    return coming
  }

  return {
    async ownerOf(client) {
      if (!owners.has(client)) await lookSoon()
      return owners.get(client) ?? null
    },
    known: (client) => owners.get(client) ?? null,
  }
}
