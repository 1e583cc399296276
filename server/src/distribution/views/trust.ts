import type { RootRecord } from '../../store/records.ts'
import type { StoreWriter } from '../../store/store.ts'
import type { OpenKey } from './opened-keys.ts'
import { createDistributionKey, openRoleKey, type RoleKey } from './role-key.ts'
import { ROOT_RENEWAL_MS, signRoot, type RoleKeys } from './root.ts'

/** Who signs for an organization, and the newest root that says so. */
export interface Trust {
  readonly keys: RoleKeys
  readonly root: RootRecord
}

/** Tells whether the root has so little of its life left that the next one is due. */
export function isRootDue(root: RootRecord, nowMs: number): boolean {
  return nowMs >= Date.parse(root.expires_at) - ROOT_RENEWAL_MS
}

/** Makes what is missing: the keys and the first root, or the next root when it is due. */
export async function ensureTrust(
  writer: StoreWriter,
  org: string,
  now: Date,
  openKey: OpenKey = openRoleKey,
): Promise<Trust> {
  const known = await writer.trust.keys(org)

  async function ensureKey(role: RoleKey['role']): Promise<RoleKey> {
    const record = known.findLast((key) => key.role === role)
    if (record !== undefined) return openKey(record)
    const created = createDistributionKey(org, role, now)
    await writer.trust.insertKey(created)
    return openKey(created)
  }

  const keys = {
    root: await ensureKey('root'),
    targets: await ensureKey('targets'),
    online: await ensureKey('online'),
  }
  const newest = await writer.trust.newestRoot(org)
  const atMs = now.getTime()
  if (newest !== null && !isRootDue(newest, atMs)) return { keys, root: newest }
  const root = signRoot(keys, { org, version: (newest?.version ?? 0) + 1, atMs })
  await writer.trust.insertRoot(root)
  return { keys, root }
}
