import type { Socket } from 'node:net'
import { setTimeout as rest } from 'node:timers/promises'
import type { FindOwners } from './socket-owners.ts'

/** A look costs some ten milliseconds of the processor, and serves all who wait for it. */
const REST_MS = 500

/** Which program a connection of the proxy comes from. */
export interface ClientOwners {
  /** Looks when it is not known yet. `process 123`, `user 1000`, or `unknown`. */
  ownerOf(client: Socket): Promise<string>
  /** As far as is known. */
  known(client: Socket): string | null
}

/** `clients` are all connections there are; one look finds the owners of all of them. */
export function createClientOwners(
  clients: () => Iterable<Socket>,
  findOwners: FindOwners,
): ClientOwners {
  const owners = new WeakMap<Socket, string>()
  let rested: Promise<unknown> = Promise.resolve()
  let coming: Promise<void> | null = null

  async function look(): Promise<void> {
    const unknown = [...clients()].filter((client) => !owners.has(client))
    const found = await findOwners(unknown.map(({ remotePort }) => remotePort ?? 0))
    for (const [index, client] of unknown.entries()) owners.set(client, found[index] ?? 'unknown')
  }

  /** The next look that begins: one under way may have missed a connection that is new. */
  function lookSoon(): Promise<void> {
    coming ??= rested.then(() => {
      const looked = look()
      coming = null
      rested = looked.then(
        () => rest(REST_MS, undefined, { ref: false }),
        () => {},
      )
      return looked
    })
    return coming
  }

  return {
    async ownerOf(client) {
      if (!owners.has(client)) await lookSoon()
      return owners.get(client) ?? 'unknown'
    },
    known: (client) => owners.get(client) ?? null,
  }
}
