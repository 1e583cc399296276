import type { Socket } from 'node:net'

/** How long a refused client may take to read the reason. */
const LINGER_MS = 2_000

/**
 * Sends a last message and closes. Reads on meanwhile: unread bytes would cause a reset, which
 * discards the message.
 */
export function hangUp(client: Socket, message: string | Buffer): void {
  if (client.destroyed) return
  client.on('error', () => client.destroy())
  if (!client.writableEnded) client.end(message)
  client.resume()
  setTimeout(() => client.destroy(), LINGER_MS).unref()
}
