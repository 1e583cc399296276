import { defineAggregate } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { KeyPurpose, SigningKeyRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { StoreError } from '../../store-error.ts'

export interface SigningKeyReader {
  /** Oldest first. */
  list(purpose: KeyPurpose): Promise<SigningKeyRecord[]>
}

export interface SigningKeyWriter extends SigningKeyReader {
  insert(key: SigningKeyRecord): Promise<void>
  /** Deletes the private part and answers the key as it now is. Throws `ERR_STORE_NOT_FOUND`. */
  retire(kid: string, verifiesUntil: string): Promise<SigningKeyRecord>
}

export const SIGNING_KEYS = defineAggregate({
  tables: [{ name: 'signing_keys', key: ['kid'] }],
  reader: createSigningKeyReader,
  writer: createSigningKeyWriter,
  events: auditSigningKeys,
})

/** Every organization trusts the signing keys of the server, so each gets the event. */
function auditSigningKeys(
  keys: SigningKeyWriter,
  { record }: ChangeRecorder,
): Writes<SigningKeyWriter, SigningKeyReader> {
  async function find(kid: string): Promise<SigningKeyRecord | undefined> {
    const known = await keys.list('access_token')
    return known.find((key) => key.kid === kid)
  }

  return {
    async insert(key) {
      await keys.insert(key)
      const change = { ...ofKey(key), kind: 'signing_key.created' as const }
      await record({ ...change, before: null, after: showKey(key) })
    },
    async retire(kid, verifiesUntil) {
      const old = await find(kid)
      const key = await keys.retire(kid, verifiesUntil)
      const change = { ...ofKey(key), kind: 'signing_key.retired' as const }
      await record({ ...change, before: showKey(old ?? key), after: showKey(key) })
      return key
    },
  }
}

function ofKey({ kid }: SigningKeyRecord) {
  return { scope: 'everywhere' as const, subject: { id: kid, name: null } }
}

function showKey({ kid, purpose, created_at, verifies_until }: SigningKeyRecord) {
  return { kid, purpose, created_at, ...(verifies_until === null ? {} : { verifies_until }) }
}

type SigningKeyRow = Omit<SigningKeyRecord, 'private_jwk'> & { private_jwk: string }

function createSigningKeyReader(connection: Connection): SigningKeyReader {
  const list = connection.prepare<SigningKeyRow>(
    'SELECT * FROM signing_keys WHERE purpose = ? ORDER BY created_at, kid',
  )
  return {
    async list(purpose) {
      return (await list.all(purpose)).map(toSigningKey)
    },
  }
}

function createSigningKeyWriter(connection: Connection): SigningKeyWriter {
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

function toSigningKey(row: SigningKeyRow): SigningKeyRecord {
  return { ...row, private_jwk: JSON.parse(row.private_jwk) as SigningKeyRecord['private_jwk'] }
}
