import type { IdempotencyRecord, SigningKeyRecord } from '../records.ts'
import type {
  IdempotencyReader,
  IdempotencyWriter,
  SecretReader,
  SecretWriter,
  SigningKeyReader,
  SigningKeyWriter,
} from '../store.ts'
import type { Connection } from './connection.ts'

export function createSigningKeyReader(connection: Connection): SigningKeyReader {
  const list = connection.prepare<Omit<SigningKeyRecord, 'private_jwk'> & { private_jwk: string }>(
    'SELECT * FROM signing_keys WHERE purpose = ? ORDER BY created_at, kid',
  )
  return {
    async list(purpose) {
      return (await list.all(purpose)).map((row) => ({
        ...row,
        private_jwk: JSON.parse(row.private_jwk) as SigningKeyRecord['private_jwk'],
      }))
    },
  }
}

export function createSigningKeyWriter(connection: Connection): SigningKeyWriter {
  const insert = connection.prepare(
    'INSERT INTO signing_keys (kid, purpose, private_jwk, created_at) VALUES (?, ?, ?, ?)',
  )
  return {
    ...createSigningKeyReader(connection),
    async insert({ kid, purpose, private_jwk, created_at }) {
      await insert.run(kid, purpose, JSON.stringify(private_jwk), created_at)
    },
  }
}

export function createIdempotencyReader(connection: Connection): IdempotencyReader {
  const find = connection.prepare<Omit<IdempotencyRecord, 'headers'> & { headers: string }>(
    'SELECT * FROM idempotency WHERE scope = ?',
  )
  return {
    async find(scope) {
      const row = await find.get(scope)
      if (row === undefined) return null
      return { ...row, headers: JSON.parse(row.headers) as IdempotencyRecord['headers'] }
    },
  }
}

export function createIdempotencyWriter(connection: Connection): IdempotencyWriter {
  const put =
    connection.prepare(`INSERT INTO idempotency (scope, body_hash, status, headers, body, expires_at)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (scope) DO UPDATE SET
       body_hash = excluded.body_hash, status = excluded.status, headers = excluded.headers,
       body = excluded.body, expires_at = excluded.expires_at`)
  const deleteExpired = connection.prepare('DELETE FROM idempotency WHERE expires_at <= ?')
  return {
    ...createIdempotencyReader(connection),
    async put({ scope, body_hash, status, headers, body, expires_at }) {
      await put.run(scope, body_hash, status, JSON.stringify(headers), body, expires_at)
    },
    async deleteExpired(now) {
      await deleteExpired.run(now)
    },
  }
}

export function createSecretReader(connection: Connection): SecretReader {
  const find = connection.prepare<{ value: Buffer }>('SELECT value FROM secrets WHERE name = ?')
  return {
    async find(name) {
      return (await find.get(name))?.value ?? null
    },
  }
}

export function createSecretWriter(connection: Connection): SecretWriter {
  const insert = connection.prepare('INSERT INTO secrets (name, value) VALUES (?, ?)')
  return {
    ...createSecretReader(connection),
    async insert(name, value) {
      await insert.run(name, value)
    },
  }
}
