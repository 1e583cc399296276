import type { TrustReader, TrustWriter } from '../contract/distribution.ts'
import type { DistributionKeyRecord, RootRecord } from '../distribution-records.ts'
import type { Connection } from './connection.ts'
import { rowNotFound } from './row-not-found.ts'

type KeyRow = Omit<DistributionKeyRecord, 'private_jwk'> & { readonly private_jwk: string }

export function createTrustReader(connection: Connection): TrustReader {
  const keys = connection.prepare<KeyRow>(
    'SELECT * FROM distribution_keys WHERE org = ? ORDER BY created_at, kid',
  )
  const root = connection.prepare<RootRecord>(
    'SELECT * FROM distribution_roots WHERE org = ? AND version = ?',
  )
  const newestRoot = connection.prepare<RootRecord>(
    'SELECT * FROM distribution_roots WHERE org = ? ORDER BY version DESC LIMIT 1',
  )
  return {
    async keys(org) {
      return (await keys.all(org)).map(toKey)
    },
    async root(org, version) {
      return (await root.get(org, version)) ?? null
    },
    async newestRoot(org) {
      return (await newestRoot.get(org)) ?? null
    },
  }
}

export function createTrustWriter(connection: Connection): TrustWriter {
  const insertKey = connection.prepare(
    `INSERT INTO distribution_keys (kid, org, role, private_jwk, created_at)
     VALUES (?, ?, ?, ?, ?)`,
  )
  const deleteKey = connection.prepare('DELETE FROM distribution_keys WHERE kid = ?')
  const reader = createTrustReader(connection)
  const updateKey = connection.prepare('UPDATE distribution_keys SET private_jwk = ? WHERE kid = ?')
  const insertRoot = connection.prepare(
    'INSERT INTO distribution_roots (org, version, body, expires_at) VALUES (?, ?, ?, ?)',
  )
  async function insert(key: DistributionKeyRecord): Promise<void> {
    const { kid, org, role, private_jwk, created_at } = key
    await insertKey.run(kid, org, role, JSON.stringify(private_jwk), created_at)
  }

  return {
    ...reader,
    insertKey: insert,
    async replaceKey(kid, next) {
      if ((await deleteKey.run(kid)) === 0) throw rowNotFound('key', kid)
      await insert(next)
    },
    async forgetPrivateKey(org, kid) {
      const key = (await reader.keys(org)).find((each) => each.kid === kid)
      if (key === undefined) throw rowNotFound('key', kid)
      const { d: _private, ...public_jwk } = key.private_jwk
      await updateKey.run(JSON.stringify(public_jwk), kid)
    },
    async insertRoot({ org, version, body, expires_at }) {
      await insertRoot.run(org, version, body, expires_at)
    },
  }
}

function toKey(row: KeyRow): DistributionKeyRecord {
  return {
    ...row,
    private_jwk: JSON.parse(row.private_jwk) as DistributionKeyRecord['private_jwk'],
  }
}
