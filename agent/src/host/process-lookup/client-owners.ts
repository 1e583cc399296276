import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientEndpoint, ReadClientEndpoint } from './client-endpoint.ts'
import type { FindOwners, Owner } from './socket-owners.ts'

/**
 * One scan serves all callers that wait for it. The pause after a scan is nine times its duration,
 * which leaves it a tenth of the processor, but it is bounded.
 */
const PAUSE_FACTOR = 9
const MAX_PAUSE_MS = 500

/** The end of a closed connection, which no table holds. */
const NO_ENDPOINT: ClientEndpoint = { address: '0.0.0.0', port: 0 }

/** Finds the programs behind connections of the proxy. */
export interface ClientOwners {
  /**
   * Scans for the owner of a new connection; null if it cannot be found. A scan also closes
   * connections that their process has abandoned: no answer can reach them, and they keep slots.
   */
  ownerOf(client: Socket): Promise<Owner | null>
  /** Null for an owner that was not looked up or not found. */
  known(client: Socket): Owner | null
}

/** `clients` returns all open connections; one scan finds the owners of all of them. */
export function createClientOwners(
  clients: () => Iterable<Socket>,
  findOwners: FindOwners,
  clientEndpoint: ReadClientEndpoint,
): ClientOwners {
  const owners = new WeakMap<Socket, Owner | null>()
  let rested: Promise<unknown> = Promise.resolve()
  let coming: Promise<void> | null = null

  /** Returns its duration in milliseconds. */
  async function scan(): Promise<number> {
    const beganMs = performance.now()
    const unknown = [...clients()].filter((client) => !owners.has(client))
    const endpoints = unknown.map((client) => clientEndpoint(client) ?? NO_ENDPOINT)
    const found = await findOwners(endpoints)
    for (const [index, client] of unknown.entries()) {
      const owner = found[index] ?? null
      owners.set(client, owner === 'closed' ? null : owner)
      if (owner === 'closed') client.destroy()
    }
    return performance.now() - beganMs
  }

  async function scanNow(): Promise<void> {
    coming = null
    const scanned = scan()
    rested = scanned.then(
      (tookMs) => pause(Math.min(PAUSE_FACTOR * tookMs, MAX_PAUSE_MS), undefined, { ref: false }),
      () => {},
    )
    await scanned
  }

  /** Waits for the next scan to begin: one under way may miss a new connection. */
  function scanSoon(): Promise<void> {
    coming ??= rested.then(scanNow)
    return coming
  }

  return {
    async ownerOf(client) {
      if (!owners.has(client)) await scanSoon()
      return owners.get(client) ?? null
    },
    known: (client) => owners.get(client) ?? null,
  }
}
