import type { AccessSettings, ChangedAccessSettings } from '@palisade/protocol'
import { isDeepStrictEqual } from 'node:util'
import type { StoreWriter } from '../store/store.ts'

/** Changes the given limits; an equal value is not written. Grants in force keep theirs. */
export async function updateAccess(
  writer: StoreWriter,
  org: string,
  changed: ChangedAccessSettings,
): Promise<AccessSettings> {
  const before = await writer.organizations.access(org)
  const after = { ...before, ...changed }
  if (!isDeepStrictEqual(before, after)) await writer.organizations.updateAccess(org, after)
  return after
}
