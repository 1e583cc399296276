import {
  GRANT_LIMITS,
  GRANT_TYPE,
  GRANT_VERSION,
  type Grant,
  type IssueGrantRequest,
} from '@palisade/protocol'
import { findLiveDevice } from '../../identity/device/authenticate-device.ts'
import { conflict, limitExceeded } from '../../platform/api-error.ts'
import type { DeviceRecord, GrantRecord } from '../../store/distribution-records.ts'
import type { StoreWriter } from '../../store/store.ts'
import type { EnrolDeps } from '../enrolment/enrol-device.ts'
import { ensureTrust } from '../../views/keys/trust.ts'
import { formatTufTime } from '../../views/keys/metadata.ts'
import { signDocument, type RoleKey } from '../../views/keys/role-key.ts'

/** That may still be begun or be in force, of one device; few, so their list has no pages. */
const MAX_OUTSTANDING = 20

export interface WantedGrant extends IssueGrantRequest {
  /** `Author.actor` */
  readonly issued_by: string
}

/** Stores that a grant was issued, and signs it. Throws ApiError 403 and 409. */
export async function issueGrant(
  deps: EnrolDeps,
  writer: StoreWriter,
  device: DeviceRecord,
  { reason, duration_seconds, use_within_seconds, issued_by }: WantedGrant,
): Promise<Grant> {
  await findLiveDevice(writer, device, () =>
    conflict('the device was revoked; enrol the machine again'),
  )
  const now = deps.now()
  const { org, id: device_id } = device
  const others = await writer.grants.listOutstanding(org, device_id, now.toISOString())
  if (others.length >= MAX_OUTSTANDING)
    throw limitExceeded(`the device has ${MAX_OUTSTANDING} grants already that have not ended`)
  // Whole seconds, as they are signed.
  const issuedMs = Math.floor(now.getTime() / 1000) * 1000
  const useByMs = issuedMs + (use_within_seconds ?? GRANT_LIMITS.defaultUseWithin) * 1000
  const record: GrantRecord = {
    id: deps.newId(),
    org,
    device_id,
    reason,
    issued_by,
    issued_at: new Date(issuedMs).toISOString(),
    use_by: new Date(useByMs).toISOString(),
    duration_seconds,
    over_at: new Date(useByMs + duration_seconds * 1000).toISOString(),
  }
  const { keys } = await ensureTrust(writer, org, now)
  await writer.grants.insert(record)
  return signGrant(record, keys.targets)
}

/**
 * The file that one machine accepts once. Signed by the targets key, which machines know by their
 * roots: a thief of that key could as well sign a policy that allows more than any grant does.
 */
export function signGrant(record: GrantRecord, targets: RoleKey): Grant {
  const { org, device_id, id, reason, issued_by, duration_seconds } = record
  return signDocument(targets, {
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
  })
}
