import type { ChangedEvidenceSettings, EvidenceSettings } from '@palisade/protocol'
import { isDeepStrictEqual } from 'node:util'
import type { StoreWriter } from '../store/store.ts'

/** Changes the given settings; an equal value is not written. */
export async function updateEvidence(
  writer: StoreWriter,
  org: string,
  changed: ChangedEvidenceSettings,
): Promise<EvidenceSettings> {
  const before = await writer.organizations.evidence(org)
  const after = { ...before, ...changed }
  if (!isDeepStrictEqual(before, after)) await writer.organizations.updateEvidence(org, after)
  return after
}
