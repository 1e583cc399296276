import type { SigningKeyRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type {
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
        throw new StoreError('ERR_STORE_NOT_FOUND', `signing key \`${kid}\` does not exist`)
      const { d: _private, ...private_jwk } = toSigningKey(row).private_jwk
      await retire.run(JSON.stringify(private_jwk), verifiesUntil, kid)
      return { ...toSigningKey(row), private_jwk, verifies_until: verifiesUntil }
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
