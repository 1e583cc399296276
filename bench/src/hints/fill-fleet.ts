import { MAX_PATH_DEPTH } from '../../../packages/protocol/src/index.ts'
import { randomUUID } from 'node:crypto'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { createDeviceKey } from '../../../server/src/fleet/enrolment/device-key.ts'
import { ensureTrust } from '../../../server/src/views/keys/trust.ts'
import { fillDataDirectory } from '../server/fill/fill-data-directory.ts'
import type { Filled } from '../server/fill/fill-organization.ts'

const CREATED_AT = '2026-11-01T00:00:00Z'
const UPLOADED = {
  upload: 'full',
  sample_percent: 100,
  path_depth: MAX_PATH_DEPTH,
  programs: true,
  users: true,
} as const
const SHAPE = { policies: 5, rulesPerPolicy: 10, editors: 1, devices: 0 } as const

/** A machine with its enrolled key. */
export interface FleetMachine {
  readonly deviceId: string
  readonly key: Awaited<ReturnType<typeof createDeviceKey>>['key']
}

export interface Fleet extends Filled {
  /** The root metadata that every machine trusts. */
  readonly root: string
  readonly machines: readonly FleetMachine[]
}

/**
 * Creates a data directory with one organization of five policies and `count` machines, each with
 * its own key. The organization wants all records.
 */
export async function fillFleet(directory: string, count: number): Promise<Fleet> {
  const [filled] = await fillDataDirectory(directory, 'hints', 1, SHAPE)
  if (filled === undefined) throw new Error('no organization was created')
  const { org } = filled
  const made = await Promise.all(Array.from({ length: count }, () => createDeviceKey()))
  const store = openDataDirectory(directory)
  try {
    return await store.transaction(async (writer) => {
      const { root } = await ensureTrust(writer, org, new Date())
      await writer.organizations.updateEvidence(org, UPLOADED)
      const machines: FleetMachine[] = []
      for (const { key, thumbprint } of made) {
        const deviceId = randomUUID()
        await writer.devices.insert({
          id: deviceId,
          org,
          username: null,
          thumbprint,
          name: null,
          labels: [],
          enrolment_token_id: null,
          created_at: CREATED_AT,
          revoked_at: null,
        })
        machines.push({ deviceId, key })
      }
      return { ...filled, root: new TextDecoder().decode(root.body), machines }
    })
  } finally {
    await store.close()
  }
}
