import type { RootRecord } from '../../store/records.ts'
import type { StoreWriter } from '../../store/store.ts'
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
export async function ensureTrust(writer: StoreWriter, org: string, now: Date): Promise<Trust> {
  const keys = {
    root: await ensureKey(writer, org, 'root', now),
    targets: await ensureKey(writer, org, 'targets', now),
    online: await ensureKey(writer, org, 'online', now),
  }
  const newest = await writer.trust.newestRoot(org)
  const atMs = now.getTime()
  if (newest !== null && !isRootDue(newest, atMs)) return { keys, root: newest }
  const root = signRoot(keys, { org, version: (newest?.version ?? 0) + 1, atMs })
  await writer.trust.insertRoot(root)
  return { keys, root }
}

async function ensureKey(
  writer: StoreWriter,
  org: string,
  role: RoleKey['role'],
  now: Date,
): Promise<RoleKey> {
  const known = (await writer.trust.keys(org)).findLast((key) => key.role === role)
  if (known !== undefined) return openRoleKey(known)
  const created = createDistributionKey(org, role, now)
  await writer.trust.insertKey(created)
  return openRoleKey(created)
}
