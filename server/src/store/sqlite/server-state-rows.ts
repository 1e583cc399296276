import type { Database } from 'better-sqlite3'
import type { IdempotencyRecord, SigningKeyRecord } from '../records.ts'
import type {
  IdempotencyReader,
  IdempotencyWriter,
  SecretReader,
  SecretWriter,
  SigningKeyReader,
  SigningKeyWriter,
} from '../store.ts'
import { prepare } from './statement.ts'

export function createSigningKeyReader(database: Database): SigningKeyReader {
  const list = prepare<Omit<SigningKeyRecord, 'private_jwk'> & { private_jwk: string }>(
    database,
    'SELECT * FROM signing_keys WHERE purpose = ? ORDER BY created_at, kid',
  )
  return {
    async list(purpose) {
      return list.all(purpose).map((row) => ({
        ...row,
        private_jwk: JSON.parse(row.private_jwk) as SigningKeyRecord['private_jwk'],
      }))
    },
  }
}

export function createSigningKeyWriter(database: Database): SigningKeyWriter {
  const insert = prepare(
    database,
    'INSERT INTO signing_keys (kid, purpose, private_jwk, created_at) VALUES (?, ?, ?, ?)',
  )
  return {
    ...createSigningKeyReader(database),
    async insert({ kid, purpose, private_jwk, created_at }) {
      insert.run(kid, purpose, JSON.stringify(private_jwk), created_at)
    },
  }
}

export function createIdempotencyReader(database: Database): IdempotencyReader {
  const find = prepare<Omit<IdempotencyRecord, 'headers'> & { headers: string }>(
    database,
    'SELECT * FROM idempotency WHERE scope = ?',
  )
  return {
    async find(scope) {
      const row = find.get(scope)
      if (row === undefined) return null
      return { ...row, headers: JSON.parse(row.headers) as IdempotencyRecord['headers'] }
    },
  }
}

export function createIdempotencyWriter(database: Database): IdempotencyWriter {
  const put = prepare(
    database,
    `INSERT OR REPLACE INTO idempotency (scope, body_hash, status, headers, body, expires_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const deleteExpired = prepare(database, 'DELETE FROM idempotency WHERE expires_at <= ?')
  return {
    ...createIdempotencyReader(database),
    async put({ scope, body_hash, status, headers, body, expires_at }) {
      put.run(scope, body_hash, status, JSON.stringify(headers), body, expires_at)
    },
    async deleteExpired(now) {
      deleteExpired.run(now)
    },
  }
}

export function createSecretReader(database: Database): SecretReader {
  const find = prepare<{ value: Buffer }>(database, 'SELECT value FROM secrets WHERE name = ?')
  return {
    async find(name) {
      return find.get(name)?.value ?? null
    },
  }
}

export function createSecretWriter(database: Database): SecretWriter {
  const insert = prepare(database, 'INSERT INTO secrets (name, value) VALUES (?, ?)')
  return {
    ...createSecretReader(database),
    async insert(name, value) {
      insert.run(name, value)
    },
  }
}
