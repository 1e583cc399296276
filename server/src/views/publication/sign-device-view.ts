import { DEVICE_VIEW_TYPE, type DeviceView } from '@palisade/protocol'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import { formatTufTime } from '../keys/metadata.ts'
import type { RoleKey } from '../keys/role-key.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Says to one machine which view is its own, for as long as a timestamp lives: one that moved must
 * not be kept in its former view for longer, and is stale when either of them is over.
 */
export function signDeviceView(
  content: Omit<DeviceView['signed'], '_type' | 'issued' | 'expires'>,
  key: RoleKey,
  now: Date,
  lifeMs: number = DAY_MS,
): DeviceView {
  const signed = {
    _type: DEVICE_VIEW_TYPE,
    ...content,
    issued: formatTufTime(now.getTime()),
    expires: formatTufTime(now.getTime() + lifeMs),
  } as const
  const { keyID, sig } = key.signBytes(Buffer.from(formatCanonicalJson(signed)))
  return { signatures: [{ keyid: keyID, sig }], signed }
}
