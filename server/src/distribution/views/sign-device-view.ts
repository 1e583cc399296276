import { DEVICE_VIEW_TYPE, type DeviceView } from '@palisade/protocol'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import { formatTufTime } from './metadata.ts'
import type { RoleKey } from './role-key.ts'

/** As long as a timestamp: a machine that moved must not be kept in its former view for longer. */
const LIFE_MS = 24 * 60 * 60 * 1000

/** Says to one machine which view is its own. */
export function signDeviceView(
  content: Pick<DeviceView['signed'], 'org' | 'device_id' | 'user' | 'view'>,
  key: RoleKey,
  now: Date,
): DeviceView {
  const signed = {
    _type: DEVICE_VIEW_TYPE,
    ...content,
    issued: formatTufTime(now.getTime()),
    expires: formatTufTime(now.getTime() + LIFE_MS),
  } as const
  const { keyID, sig } = key.signBytes(Buffer.from(formatCanonicalJson(signed)))
  return { signatures: [{ keyid: keyID, sig }], signed }
}
