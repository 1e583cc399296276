import type { TrustReader, TrustWriter } from '../contract/distribution.ts'
import type { DistributionKeyRecord, RootRecord } from '../records.ts'
import type { Connection } from './connection.ts'

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
  const insertRoot = connection.prepare(
    'INSERT INTO distribution_roots (org, version, body, expires_at) VALUES (?, ?, ?, ?)',
  )
  return {
    ...createTrustReader(connection),
    async insertKey({ kid, org, role, private_jwk, created_at }) {
      await insertKey.run(kid, org, role, JSON.stringify(private_jwk), created_at)
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
