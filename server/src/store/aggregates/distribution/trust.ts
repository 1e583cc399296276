import { defineAggregate } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { DistributionKeyRecord, RootRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'
import { rowNotFound } from '../../sql/row-not-found.ts'

/** The keys and roots that the machines of an organization trust. */
export interface TrustReader {
  /** Oldest first. */
  keys(org: string): Promise<DistributionKeyRecord[]>
  root(org: string, version: number): Promise<RootRecord | null>
  newestRoot(org: string): Promise<RootRecord | null>
}

export interface TrustWriter extends TrustReader {
  insertKey(key: DistributionKeyRecord): Promise<void>
  /** Deletes the key of that id, its private part with it, and inserts the one that follows it. */
  replaceKey(kid: string, next: DistributionKeyRecord): Promise<void>
  /** Keeps the public part of the key alone: the private one is elsewhere from now on. */
  forgetPrivateKey(org: string, kid: string): Promise<void>
  /** Throws `ERR_STORE_CONFLICT` when there is that version. */
  insertRoot(root: RootRecord): Promise<void>
}

export const TRUST = defineAggregate({
  tables: [
    { name: 'distribution_keys', key: ['kid'] },
    { name: 'distribution_roots', key: ['org', 'version'] },
  ],
  reader: createTrustReader,
  writer: createTrustWriter,
  events: auditTrust,
})

/**
 * First keys, and roots, have no event: they follow from other facts in the history, such as the
 * first machine or a key that was replaced, or from the passing of half a year.
 */
function auditTrust(
  trust: TrustWriter,
  { record }: ChangeRecorder,
): Writes<TrustWriter, TrustReader> {
  return {
    insertKey: (key) => trust.insertKey(key),
    insertRoot: (root) => trust.insertRoot(root),
    async replaceKey(kid, next) {
      const before = await findKey(trust, next.org, kid)
      await trust.replaceKey(kid, next)
      await record({
        ...ofKey(next),
        kind: 'distribution_key.replaced',
        before: before === undefined ? null : showKey(before),
        after: showKey(next),
      })
    },
    async forgetPrivateKey(org, kid) {
      const before = await findKey(trust, org, kid)
      await trust.forgetPrivateKey(org, kid)
      const after = await findKey(trust, org, kid)
      if (before === undefined || after === undefined) return
      const shown = { before: showKey(before), after: showKey(after) }
      await record({ ...ofKey(after), kind: 'distribution_key.moved_off', ...shown })
    },
  }
}

async function findKey(
  trust: TrustReader,
  org: string,
  kid: string,
): Promise<DistributionKeyRecord | undefined> {
  return (await trust.keys(org)).find((key) => key.kid === kid)
}

function ofKey({ kid, org, role }: DistributionKeyRecord) {
  return { scope: { org }, subject: { id: kid, name: role } }
}

function showKey({ kid, role, created_at, private_jwk }: DistributionKeyRecord) {
  return { kid, role, created_at, on_server: private_jwk.d !== undefined }
}

type KeyRow = Omit<DistributionKeyRecord, 'private_jwk'> & { readonly private_jwk: string }

function createTrustReader(connection: Connection): TrustReader {
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

function createTrustWriter(connection: Connection): TrustWriter {
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
