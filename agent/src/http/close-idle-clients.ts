import type { Socket } from 'node:net'

/** Share of the connection limit above which idle connections are closed. */
const CROWDED_SHARE = 7 / 8

/** Closed in one call, so that few new connections have to search in a crowd. */
const AT_ONCE = 64

/**
 * Call after each new connection. Near the connection limit, closes the oldest connections that
 * hold no slot: they have sent no request, or were answered. Otherwise one program that only
 * connects would lock out all others.
 */
export function closeIdleClients(
  clients: ReadonlySet<Socket>,
  holders: () => Iterable<Socket>,
  maxConnections: number,
): void {
  if (clients.size <= CROWDED_SHARE * maxConnections) return
  const held = new Set(holders())
  let ended = 0
  for (const client of clients) {
    if (ended === AT_ONCE) return
    if (held.has(client)) continue
    // Destroyed connections also count, until their `close` event.
    client.destroy()
    ended += 1
  }
}
