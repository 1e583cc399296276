import type {
  DistributionKeyRecord,
  DistributionRole,
  RootRecord,
} from '../../store/distribution-records.ts'
import { StoreError } from '../../store/store-error.ts'
import type { StoreReader, StoreWriter } from '../../store/store.ts'
import type { OpenKey } from './role-key.ts'
import { createDistributionKey, isPrivate, openRoleKey, type RoleKey } from './role-key.ts'
import { ROOT_RENEWAL_MS, signRoot, type RoleKeys } from './root.ts'

/** The keys that sign for an organization, and the newest root that names them. */
export interface Trust {
  /** The root key is null while its private part is kept apart from the server. */
  readonly keys: Pick<RoleKeys, 'targets' | 'online'> & { readonly root: RoleKey | null }
  readonly root: RootRecord
}

/** Tells whether the root has so little of its life left that the next one is due. */
export function isRootDue(root: RootRecord, nowMs: number): boolean {
  return nowMs >= Date.parse(root.expires_at) - ROOT_RENEWAL_MS
}

/** Tells whether there is no root, or the next one is due and can be signed here. */
export async function isRootMissing(
  reader: StoreReader,
  org: string,
  root: RootRecord | null,
  nowMs: number,
): Promise<boolean> {
  if (root === null) return true
  return isRootDue(root, nowMs) && isPrivate(findKey(await reader.trust.keys(org), 'root', org))
}

/**
 * Makes missing keys and the first root, or the next root when it is due and its key is here.
 * Without that key the newest root serves until it expires.
 */
export async function ensureTrust(
  writer: StoreWriter,
  org: string,
  now: Date,
  openKey: OpenKey = openRoleKey,
): Promise<Trust> {
  const newest = await writer.trust.newestRoot(org)
  const atMs = now.getTime()
  if (newest === null) {
    const keys = await createKeys(writer, org, now)
    const root = signRoot(keys, { org, version: 1, atMs })
    await writer.trust.insertRoot(root)
    return { keys, root }
  }
  const { root: rootKey, ...others } = await openKeys(writer, org, openKey)
  const keys = { ...others, root: rootKey }
  if (rootKey === null || !isRootDue(newest, atMs)) return { keys, root: newest }
  const root = signRoot({ ...others, root: rootKey }, { org, version: newest.version + 1, atMs })
  await writer.trust.insertRoot(root)
  return { keys, root }
}

/**
 * The key of the role; the one before is deleted when it is replaced. Throws `ERR_STORE_NOT_FOUND`.
 */
export function findKey(
  records: readonly DistributionKeyRecord[],
  role: DistributionRole,
  org: string,
): DistributionKeyRecord {
  const record = records.find((key) => key.role === role)
  if (record !== undefined) return record
  const message = `the ${role} key of organization \`${org}\` does not exist`
  throw new StoreError('ERR_STORE_NOT_FOUND', message)
}

async function createKeys(writer: StoreWriter, org: string, now: Date): Promise<RoleKeys> {
  const create = async (role: DistributionRole): Promise<RoleKey> => {
    const record = createDistributionKey(org, role, now)
    await writer.trust.insertKey(record)
    return openRoleKey(record)
  }
  return {
    root: await create('root'),
    targets: await create('targets'),
    online: await create('online'),
  }
}

async function openKeys(
  reader: StoreReader,
  org: string,
  openKey: OpenKey,
): Promise<Trust['keys']> {
  const records = await reader.trust.keys(org)
  const root = findKey(records, 'root', org)
  return {
    root: isPrivate(root) ? openKey(root) : null,
    targets: openKey(findKey(records, 'targets', org)),
    online: openKey(findKey(records, 'online', org)),
  }
}
