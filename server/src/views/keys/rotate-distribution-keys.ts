import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import type {
  DistributionKeyRecord,
  DistributionRole,
  RootRecord,
} from '../../store/distribution-records.ts'
import type { StoreWriter } from '../../store/store.ts'
import { createDistributionKey, openRoleKey, type RoleKey } from './role-key.ts'
import { signRoot } from './root.ts'
import { ensureTrust, findKey } from './trust.ts'

/** Why the root key at hand cannot sign: it is missing, or the newest root names another one. */
export type RootKeyRefusal = 'root_key_apart' | 'other_root_key'

export interface Rotation {
  /** The keys that sign from now on. */
  readonly keys: readonly DistributionKeyRecord[]
  readonly root: RootRecord
}

export interface RotationRequest {
  readonly org: string
  /** Empty: the next root with the same keys. */
  readonly roles: readonly DistributionRole[]
  /** Where it is kept apart from the server. */
  readonly rootKey: RoleKey | null
  /** The next root key, where `roles` has it: its private part does not come to the server. */
  readonly nextRootKey: DistributionKeyRecord | null
}

/**
 * Makes new keys for `roles` and the root that names them, signed by the previous root key and by
 * its own. The replaced keys are deleted with it. From the next request on every file is signed
 * anew, since each view records the root under which it was signed.
 *
 * Machines that meet new keys for targets, snapshots or timestamps accept versions from the
 * beginning (TUF 1.0, §5.3.11), so that a thief of the old keys cannot lock them out with a high
 * version.
 */
export async function rotateDistributionKeys(
  store: AuditedStore,
  author: Author,
  request: RotationRequest,
  now: Date,
): Promise<Rotation | RootKeyRefusal> {
  const { org, roles } = request
  return store.write(author, async (writer) => {
    const trust = await ensureTrust(writer, org, now)
    const before = await writer.trust.keys(org)
    const former = request.rootKey ?? trust.keys.root
    if (former === null) return 'root_key_apart'
    if (former.key.keyID !== findKey(before, 'root', org).kid) return 'other_root_key'
    const created: DistributionKeyRecord[] = []
    let root = former
    for (const role of roles) {
      const next = nextKey(request, role, now)
      if (role === 'root') root = openRoleKey(next)
      created.push(withoutApart(request, next))
      await writer.trust.replaceKey(findKey(before, role, org).kid, withoutApart(request, next))
    }
    return { keys: created, root: await insertRoot(writer, { org, root, former, now }) }
  })
}

function nextKey(
  { org, nextRootKey }: RotationRequest,
  role: DistributionRole,
  now: Date,
): DistributionKeyRecord {
  return role === 'root' && nextRootKey !== null
    ? nextRootKey
    : createDistributionKey(org, role, now)
}

function withoutApart(
  { nextRootKey }: RotationRequest,
  key: DistributionKeyRecord,
): DistributionKeyRecord {
  if (key !== nextRootKey) return key
  const { d: _private, ...private_jwk } = key.private_jwk
  return { ...key, private_jwk }
}

async function insertRoot(
  writer: StoreWriter,
  {
    org,
    root,
    former,
    now,
  }: { readonly org: string; readonly root: RoleKey; readonly former: RoleKey; readonly now: Date },
): Promise<RootRecord> {
  const records = await writer.trust.keys(org)
  const keys = {
    root,
    targets: openRoleKey(findKey(records, 'targets', org)),
    online: openRoleKey(findKey(records, 'online', org)),
  }
  const version = ((await writer.trust.newestRoot(org))?.version ?? 0) + 1
  const signers = root === former ? [root] : [former, root]
  const record = signRoot(keys, { org, version, atMs: now.getTime() }, signers)
  await writer.trust.insertRoot(record)
  return record
}
