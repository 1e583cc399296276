import { randomBytes, randomUUID } from 'node:crypto'
import { createDeviceKey } from '../../../server/src/fleet/enrolment/device-key.ts'
import {
  createDeviceTokens,
  type DeviceTokens,
} from '../../../server/src/identity/device/device-tokens.ts'
import type { StoreWriter } from '../../../server/src/store/store.ts'

const CREATED_AT = '2026-11-01T00:00:00Z'
/** Longer than any run, so that tokens do not expire during a load. */
const LIFE_SECONDS = 7 * 24 * 60 * 60

/** A machine with its enrolled key. */
export interface FleetMachine {
  readonly key: Awaited<ReturnType<typeof createDeviceKey>>['key']
  readonly token: string
}

/** Issues device tokens that a server accepts whose store has `key`. */
export function createLongTokens(key: Uint8Array): DeviceTokens {
  return createDeviceTokens({ key, lifeSeconds: LIFE_SECONDS, now: () => new Date() })
}

/** Enrols a device without a key, which a poll does not need. Returns its token. */
export function fillDevice(
  writer: StoreWriter,
  device: { readonly org: string; readonly username: string | null },
  tokens: DeviceTokens,
): Promise<string> {
  return enrol(writer, { ...device, thumbprint: randomBytes(32).toString('base64url') }, tokens)
}

/** Enrols a machine without a user. */
export async function fillMachine(
  writer: StoreWriter,
  org: string,
  tokens: DeviceTokens,
): Promise<FleetMachine> {
  const { key, thumbprint } = await createDeviceKey()
  return { key, token: await enrol(writer, { org, username: null, thumbprint }, tokens) }
}

async function enrol(
  writer: StoreWriter,
  device: { readonly org: string; readonly username: string | null; readonly thumbprint: string },
  tokens: DeviceTokens,
): Promise<string> {
  const id = randomUUID()
  await writer.devices.insert({
    ...device,
    id,
    name: null,
    labels: [],
    enrolment_token_id: null,
    created_at: CREATED_AT,
    revoked_at: null,
  })
  return tokens.issue({ id, thumbprint: device.thumbprint })
}
