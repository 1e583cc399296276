import type { KnownNetworkReader, KnownNetworkWriter } from '../contract/organizations.ts'
import type { Connection } from './connection.ts'

/** Of one user; a new one takes the place of the one that was seen longest ago. */
const MAX_OF_USER = 16

export function createKnownNetworkReader(connection: Connection): KnownNetworkReader {
  const find = connection.prepare<{ seen_at: string }>(
    'SELECT seen_at FROM known_networks WHERE username = ? AND network = ?',
  )
  return {
    async seenAt(username, network) {
      return (await find.get(username, network))?.seen_at ?? null
    },
  }
}

export function createKnownNetworkWriter(connection: Connection): KnownNetworkWriter {
  const put = connection.prepare(
    `INSERT INTO known_networks (username, network, seen_at) VALUES (?, ?, ?)
     ON CONFLICT (username, network) DO UPDATE SET seen_at = excluded.seen_at`,
    'progress',
  )
  const prune = connection.prepare(
    `DELETE FROM known_networks WHERE username = ? AND network NOT IN (
       SELECT network FROM known_networks WHERE username = ?
       ORDER BY seen_at DESC, network LIMIT ${MAX_OF_USER})`,
    'progress',
  )
  const forget = connection.prepare('DELETE FROM known_networks WHERE username = ?', 'progress')
  return {
    ...createKnownNetworkReader(connection),
    async note(username, network, at) {
      await put.run(username, network, at)
      await prune.run(username, username)
    },
    async forget(username) {
      await forget.run(username)
    },
  }
}
