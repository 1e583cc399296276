import { defineAggregate } from '../aggregate.ts'
import type { Connection } from '../../sql/connection.ts'

/** Random values the server keeps for itself, such as `page_token_mac`. */
export interface SecretReader {
  find(name: string): Promise<Uint8Array | null>
}

export interface SecretWriter extends SecretReader {
  insert(name: string, value: Uint8Array): Promise<void>
}

export const SECRETS = defineAggregate({
  tables: [{ name: 'secrets', key: ['name'] }],
  reader: createSecretReader,
  writer: createSecretWriter,
  // The server makes them for itself.
  events: null,
})

function createSecretReader(connection: Connection): SecretReader {
  const find = connection.prepare<{ value: Buffer }>('SELECT value FROM secrets WHERE name = ?')
  return {
    async find(name) {
      return (await find.get(name))?.value ?? null
    },
  }
}

function createSecretWriter(connection: Connection): SecretWriter {
  const insert = connection.prepare('INSERT INTO secrets (name, value) VALUES (?, ?)')
  return {
    ...createSecretReader(connection),
    async insert(name, value) {
      await insert.run(name, value)
    },
  }
}
