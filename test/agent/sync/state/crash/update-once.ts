import { createDeviceKey, createProver } from '@palisade/client'
import type { Enrolment } from '@palisade/protocol'
import { createActivePolicy } from '../../../../../agent/src/policy/decision/active-policy.ts'
import { createTrustedClock } from '../../../../../agent/src/policy/state/trusted-clock.ts'
import { createDeviceAccess } from '../../../../../agent/src/sync/transport/device-access.ts'
import { createHttpFetch } from '../../../../../agent/src/sync/transport/fetch-over-http.ts'
import { createStateStore } from '../../../../../agent/src/sync/state/state-store.ts'
import { createSynchronizer } from '../../../../../agent/src/sync/update/synchronizer.ts'
import { createViewChannel } from '../../../../../agent/src/sync/update/view-channel.ts'
import { createFileFetcher } from '../../../../../agent/src/sync/transport/fetch-file.ts'
import { countWrites } from './count-writes.ts'

/**
 * A process that makes one update and kills itself with SIGKILL at one of its disk steps: before
 * step `at`, or in the middle of it if `half` is given. Prints its steps and the outcome.
 */
const [directory = '', enrolmentText = '', at = '', half = ''] = process.argv.slice(2)
const enrolment = JSON.parse(enrolmentText) as Enrolment

const clock = createTrustedClock({ wall: Date.now, uptime: () => performance.now() })
const active = createActivePolicy({
  clock,
  machineAddresses: () => [],
  localPolicies: [],
  home: null,
  controlPlane: [],
})
const prove = createProver(createDeviceKey(), Date.now)
const wire = { fetch: createHttpFetch(), server: enrolment.server, prove, timeoutMs: 10_000 }
const access = createDeviceAccess({ ...wire, clock: Date.now, random: Math.random })
const channel = createViewChannel({
  enrolment,
  store: createStateStore(directory),
  fetchFile: createFileFetcher({ ...wire, access }),
  clock,
})
const synchronizer = createSynchronizer({
  active,
  channel,
  checkConflict: async () => {},
  org: enrolment.org,
  clock: Date.now,
})
await synchronizer.restoreTime()
await synchronizer.restore()

const steps: string[] = []
await countWrites(directory, ({ name, halve: doHalf }) => {
  steps.push(name)
  if (steps.length !== Number(at)) return undefined
  const die = (): void => void process.kill(process.pid, 'SIGKILL')
  if (half !== '') return doHalf().then(die)
  die()
  return undefined
})
const { outcome, revision, error } = await synchronizer.run(new AbortController().signal)
process.stdout.write(JSON.stringify({ steps, outcome, revision, error }))
process.exit(0)
