import type { Socket } from 'node:net'

/** Of the connections that the proxy takes, beyond which some are ended. */
const CROWDED = 7 / 8

/** Ended at once, so that few connections in a crowd have to look for some. */
const AT_ONCE = 64

/**
 * To be called after each new connection. Where nearly as many are there as the proxy takes, ends
 * those that came first and hold no place: they have asked for nothing, or were answered. Else one
 * program that only connects would keep all others out.
 */
export function thinOut(
  clients: ReadonlySet<Socket>,
  holders: () => readonly Socket[],
  maxConnections: number,
): void {
  if (clients.size <= CROWDED * maxConnections) return
  const held = new Set(holders())
  let ended = 0
  for (const client of clients) {
    if (ended === AT_ONCE) return
    if (held.has(client)) continue
    // Those that were ended before count as well, until their `close` has come.
    client.destroy()
    ended += 1
  }
}
