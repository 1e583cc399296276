import { GRANT_TYPE, GRANT_VERSION, type Grant } from '@palisade/protocol'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import type { GrantRecord } from '../../store/distribution-records.ts'
import { formatTufTime } from '../../views/keys/metadata.ts'
import type { RoleKey } from '../../views/keys/role-key.ts'

/**
 * The file that one machine accepts once. Signed by the targets key, which machines know by their
 * roots: a thief of that key could as well sign a policy that allows more than any grant does.
 */
export function signGrant(record: GrantRecord, targets: RoleKey): Grant {
  const { org, device_id, id, reason, issued_by, duration_seconds } = record
  const signed = {
    _type: GRANT_TYPE,
    version: GRANT_VERSION,
    org,
    device_id,
    id,
    reason,
    issued_by,
    issued: formatTufTime(Date.parse(record.issued_at)),
    use_by: formatTufTime(Date.parse(record.use_by)),
    duration_seconds,
  } as const
  const { keyID, sig } = targets.signBytes(Buffer.from(formatCanonicalJson(signed)))
  return { signatures: [{ keyid: keyID, sig }], signed }
}
