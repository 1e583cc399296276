import { createProver, type Fetch } from '@palisade/client'
import type { DeviceKey, Enrolment } from '@palisade/protocol'
import { createDeviceAccess } from './device-access.ts'
import { createFileFetcher, type FetchFile } from './view-client.ts'

const TIMEOUT_MS = 20_000

/** Asks the server of the enrolment as the machine that has the key. */
export function fetchAsDevice(deps: {
  readonly enrolment: Pick<Enrolment, 'server'>
  readonly key: DeviceKey
  readonly fetch: Fetch
  /** The trusted time, by which proofs are dated; epoch milliseconds. */
  readonly now: () => number
  /** What the machine's own clock shows. */
  readonly clock: () => number
  readonly random: () => number
}): FetchFile {
  const { enrolment, key, now, ...from } = deps
  const wire = {
    ...from,
    server: enrolment.server,
    prove: createProver(key, now),
    timeoutMs: TIMEOUT_MS,
  }
  return createFileFetcher({ ...wire, access: createDeviceAccess(wire) })
}
