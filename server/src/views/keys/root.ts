import { Metadata, Root } from '@tufjs/models'
import type { RootRecord } from '../../store/distribution-records.ts'
import { formatMetadata, formatTufTime, SPEC_VERSION } from './metadata.ts'
import type { RoleKey } from './role-key.ts'

const DAY_MS = 24 * 60 * 60 * 1000
export const ROOT_LIFE_MS = 365 * DAY_MS
/** Remaining life of a root at which the next one is signed. */
export const ROOT_RENEWAL_MS = 182 * DAY_MS

/** The keys of an organization, one for each role. */
export interface RoleKeys {
  readonly root: RoleKey
  readonly targets: RoleKey
  /** Signs snapshots and timestamps. */
  readonly online: RoleKey
}

/**
 * The root of that version: which keys sign which role. A root with another root key is also signed
 * by the key before it.
 */
export function signRoot(
  keys: RoleKeys,
  { org, version, atMs }: { readonly org: string; readonly version: number; readonly atMs: number },
  signers: readonly RoleKey[] = [keys.root],
): RootRecord {
  const root = new Root({
    version,
    specVersion: SPEC_VERSION,
    expires: formatTufTime(atMs + ROOT_LIFE_MS),
    consistentSnapshot: true,
    unrecognizedFields: { 'x-org': org },
  })
  root.addKey(keys.root.key, 'root')
  root.addKey(keys.targets.key, 'targets')
  root.addKey(keys.online.key, 'snapshot')
  root.addKey(keys.online.key, 'timestamp')
  const metadata = new Metadata(root)
  for (const signer of signers) signer.sign(metadata)
  const expires_at = new Date(atMs + ROOT_LIFE_MS).toISOString()
  return { org, version, body: formatMetadata(metadata), expires_at }
}
