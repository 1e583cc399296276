import { defineAggregate } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { Connection } from '../../sql/connection.ts'

/** The networks that a user has signed in from with a password. */
export interface KnownNetworkReader {
  /** When it was noted last (`Date.toISOString`); null when it is not among the newest 16. */
  seenAt(username: string, network: string): Promise<string | null>
}

export interface KnownNetworkWriter extends KnownNetworkReader {
  note(username: string, network: string, at: string): Promise<void>
  forget(username: string): Promise<void>
}

export const KNOWN_NETWORKS = defineAggregate({
  tables: [{ name: 'known_networks', key: ['username', 'network'] }],
  reader: createKnownNetworkReader,
  writer: createKnownNetworkWriter,
  events: auditKnownNetworks,
})

/** A network is noted once a day at most, and by a right password alone. */
function auditKnownNetworks(
  knownNetworks: KnownNetworkWriter,
  { record }: ChangeRecorder,
): Writes<KnownNetworkWriter, KnownNetworkReader> {
  return {
    async note(username, network, at) {
      const before = await knownNetworks.seenAt(username, network)
      await knownNetworks.note(username, network, at)
      await record({
        scope: { username },
        kind: 'user.signed_in',
        subject: { id: username, name: username },
        before: before === null ? null : { username, network, seen_at: before },
        after: { username, network, seen_at: at },
      })
    },
    // The cause of it, such as the end of a password, is in the history.
    forget: (username) => knownNetworks.forget(username),
  }
}

/** Most networks of one user; a new one replaces the one that was seen longest ago. */
const MAX_OF_USER = 16

function createKnownNetworkReader(connection: Connection): KnownNetworkReader {
  const find = connection.prepare<{ seen_at: string }>(
    'SELECT seen_at FROM known_networks WHERE username = ? AND network = ?',
  )
  return {
    async seenAt(username, network) {
      return (await find.get(username, network))?.seen_at ?? null
    },
  }
}

function createKnownNetworkWriter(connection: Connection): KnownNetworkWriter {
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
