import { createProver, type Fetch } from '@palisade/client'
import type { DeviceKey, Enrolment } from '@palisade/protocol'
import { createDeviceAccess } from './device-access.ts'
import { createFileFetcher, type FetchFile } from './view-client.ts'

const TIMEOUT_MS = 20_000
/** Proofs are dated in whole seconds. */
const LEAST_DIFFERENCE_MS = 1_000

/**
 * Asks the server of the enrolment as the machine that has the key. Proofs are dated by the trusted time, which
 * a clock that is set back does not change; but a clock that was ahead once and was mended stays in it until
 * something is fetched, which nothing would be. So where the server refuses one, the other serves.
 */
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
  let isByOwnClock = false
  const wire = {
    ...from,
    server: enrolment.server,
    prove: createProver(key, () => (isByOwnClock ? from.clock() : now())),
    timeoutMs: TIMEOUT_MS,
    redate() {
      if (Math.abs(now() - from.clock()) < LEAST_DIFFERENCE_MS) return false
      isByOwnClock = !isByOwnClock
      return true
    },
  }
  return createFileFetcher({ ...wire, access: createDeviceAccess(wire) })
}
