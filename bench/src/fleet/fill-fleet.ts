import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createDeviceKey, thumbprintOf } from '../../../packages/client/src/index.ts'
import type { DeviceKey, Enrolment } from '../../../packages/protocol/src/index.ts'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { formatEnrolment } from '../../../server/src/fleet/enrolment/enrol-device.ts'
import {
  createDeviceTokens,
  loadDeviceTokenKey,
} from '../../../server/src/identity/device/device-tokens.ts'
import { ensureTrust } from '../../../server/src/views/keys/trust.ts'
import { createLongTokens, createThumbprint } from '../server/fill/device-tokens.ts'
import { fillOrganization, type Filled } from '../server/fill/fill-organization.ts'

const ORG = 'fleet'
const SHAPE = { policies: 4, rulesPerPolicy: 20, editors: 1, devices: 0 } as const
/** The default of `PALISADE_DEVICE_TOKEN_MINUTES`, in seconds. */
const TOKEN_SECONDS = 60 * 60

/** An enrolled machine with a valid token. */
export interface FleetDevice {
  readonly enrolment: Enrolment
  /** Null for an agent that only polls, because a poll needs no proof. */
  readonly key: DeviceKey | null
  readonly token: string
  /** Remaining lifetime of the token, in seconds. */
  readonly expiresIn: number
}

export interface FilledFleet extends Filled {
  readonly devices: readonly FleetDevice[]
}

/**
 * Creates one organization whose machines share one view. `server` is the origin that they contact.
 * Tokens of machines with a key have every age, as in a fleet that has run for long. Other tokens
 * are new.
 */
export async function fillFleet(
  directory: string,
  fleet: { readonly count: number; readonly hasKey: (index: number) => boolean },
  server: string,
): Promise<FilledFleet> {
  const store = openDataDirectory(directory)
  const now = new Date()
  try {
    const macKey = await loadDeviceTokenKey(store, randomBytes)
    return await store.transaction(async (writer) => {
      const shape = { ...SHAPE, tokens: createLongTokens(macKey) }
      const filled = await fillOrganization(writer, ORG, shape)
      const { root } = await ensureTrust(writer, ORG, now)
      // All enrolments share one string.
      const shared = formatEnrolment({ id: '', org: ORG, username: null }, { server, root })
      const devices: FleetDevice[] = []
      for (let n = 0; n < fleet.count; n += 1) {
        const id = randomUUID()
        const key = fleet.hasKey(n) ? createDeviceKey() : null
        const thumbprint = key === null ? createThumbprint() : thumbprintOf(key)
        await writer.devices.insert({
          id,
          org: ORG,
          username: null,
          thumbprint,
          name: null,
          labels: [],
          enrolment_token_id: null,
          created_at: now.toISOString(),
          revoked_at: null,
        })
        const lifeSeconds = key === null ? TOKEN_SECONDS : Math.ceil(shareOf(id) * TOKEN_SECONDS)
        const clock = () => new Date()
        const tokens = createDeviceTokens({ key: macKey, lifeSeconds, now: clock })
        const token = tokens.issue({ id, thumbprint })
        devices.push({
          enrolment: { ...shared, device_id: id },
          key,
          token,
          expiresIn: lifeSeconds,
        })
      }
      return { ...filled, devices }
    })
  } finally {
    await store.close()
  }
}

/** Derives a number in [0, 1) from the id. */
function shareOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt32BE() / 2 ** 32
}
