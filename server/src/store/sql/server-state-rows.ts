import type { IdempotencyRecord, SigningKeyRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type {
  IdempotencyReader,
  IdempotencyWriter,
  SecretReader,
  SecretWriter,
  SigningKeyReader,
  SigningKeyWriter,
} from '../contract/server-state.ts'
import type { Connection } from './connection.ts'

type SigningKeyRow = Omit<SigningKeyRecord, 'private_jwk'> & { private_jwk: string }

export function createSigningKeyReader(connection: Connection): SigningKeyReader {
  const list = connection.prepare<SigningKeyRow>(
    'SELECT * FROM signing_keys WHERE purpose = ? ORDER BY created_at, kid',
  )
  return {
    async list(purpose) {
      return (await list.all(purpose)).map(toSigningKey)
    },
  }
}

export function createSigningKeyWriter(connection: Connection): SigningKeyWriter {
  const insert = connection.prepare(
    `INSERT INTO signing_keys (kid, purpose, private_jwk, created_at, verifies_until)
     VALUES (?, ?, ?, ?, ?)`,
  )
  const find = connection.prepare<SigningKeyRow>('SELECT * FROM signing_keys WHERE kid = ?')
  const retire = connection.prepare(
    'UPDATE signing_keys SET private_jwk = ?, verifies_until = ? WHERE kid = ?',
  )
  return {
    ...createSigningKeyReader(connection),
    async insert({ kid, purpose, private_jwk, created_at, verifies_until }) {
      await insert.run(kid, purpose, JSON.stringify(private_jwk), created_at, verifies_until)
    },
    async retire(kid, verifiesUntil) {
      const row = await find.get(kid)
      if (row === undefined)
        throw new StoreError('ERR_STORE_NOT_FOUND', `signing key \`${kid}\` is not there`)
      const { d: _private, ...private_jwk } = toSigningKey(row).private_jwk
      await retire.run(JSON.stringify(private_jwk), verifiesUntil, kid)
      return { ...toSigningKey(row), private_jwk, verifies_until: verifiesUntil }
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
  const put = connection.prepare(
    `INSERT INTO idempotency (scope, body_hash, status, headers, body, expires_at)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (scope) DO UPDATE SET
       body_hash = excluded.body_hash, status = excluded.status, headers = excluded.headers,
       body = excluded.body, expires_at = excluded.expires_at`,
    'progress',
  )
  const deleteExpired = connection.prepare(
    'DELETE FROM idempotency WHERE expires_at <= ?',
    'progress',
  )
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

function toSigningKey(row: SigningKeyRow): SigningKeyRecord {
  return { ...row, private_jwk: JSON.parse(row.private_jwk) as SigningKeyRecord['private_jwk'] }
}
