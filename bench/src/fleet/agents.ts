import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createActivePolicy } from '../../../agent/src/decision/active-policy.ts'
import { controlPlane } from '../../../agent/src/decision/offline.ts'
import { describeReport } from '../../../agent/src/report/describe-report.ts'
import { createTrustedClock } from '../../../agent/src/state/trusted-clock.ts'
import { createStateStore } from '../../../agent/src/sync/state/state-store.ts'
import { NO_ATTEMPTS, recordAttempt } from '../../../agent/src/sync/update/sync-status.ts'
import type { Root } from '../../../agent/src/sync/trust/signed-metadata.ts'
import {
  createSynchronizer,
  type SyncOutcome,
} from '../../../agent/src/sync/update/synchronizer.ts'
import type { Schedule } from '../../../agent/src/sync/update/timetable.ts'
import { createViewChannel } from '../../../agent/src/sync/update/view-channel.ts'
import type { FleetDevice } from './fill-fleet.ts'
import { createFleetAgent } from './fleet-agent.ts'
import { fetchLightly, pollLightly, type LightState } from './light-channel.ts'

const PROGRAM = { agent_version: '0.1.0', grant: null } as const

export interface AgentEnvironment {
  readonly fetch: typeof globalThis.fetch
  readonly schedule: Schedule
  readonly clock: () => number
  /** The agent's position in each polling period, in the range [0, 1). */
  readonly phase: number
  /** Called after each attempt with the revision then in force. */
  readonly onOutcome: (outcome: SyncOutcome) => void
}

/**
 * Creates an agent that starts from `known` and verifies, but neither compiles nor stores policies.
 * With `fetches` it sends all requests and reports of a complete agent. Without, it only verifies
 * the signed timestamp and counts the announced version as its own.
 */
export function createLightAgent(
  device: FleetDevice,
  known: LightState | null,
  from: AgentEnvironment & {
    /**
     * Root of the organization, parsed once: a copy for each of 100,000 agents would need a
     * gigabyte.
     */
    readonly root: Root
    readonly fetches: boolean
    readonly onState?: (state: LightState) => void
  },
): { start(): void } {
  const { enrolment } = device
  const { root } = from
  let state = known
  let record = NO_ATTEMPTS
  return createFleetAgent({
    ...from,
    device,
    run: (fetchFile) => async (signal) => {
      const beganAt = new Date().toISOString()
      const fetchState = from.fetches ? fetchLightly : pollLightly
      const found = await fetchState({ enrolment, root, fetchFile }, state, signal)
      const before = state?.revision ?? null
      if (!('kind' in found)) {
        state = found
        from.onState?.(found)
      }
      const failure = 'kind' in found ? found : null
      const error = failure && { code: failure.code, message: failure.message }
      record = recordAttempt(record, { beganAt, endedAt: new Date().toISOString(), error })
      const revision = state?.revision ?? null
      const good = revision === before ? 'unchanged' : 'updated'
      const retryAfterMs = failure?.retryAfterMs ?? null
      return { outcome: error === null ? good : 'failed', revision, error, retryAfterMs }
    },
    describe: from.fetches
      ? () => {
          const revision = state?.revision ?? null
          const active = { state: () => 'fresh' as const, revision: () => revision }
          return describeReport(active, record, PROGRAM)
        }
      : null,
  })
}

/** Creates an agent with all parts but its proxy and local API, in its own directory. */
export function createWholeAgent(
  device: FleetDevice,
  { folder, ...from }: AgentEnvironment & { readonly folder: string },
): { start(): void } {
  const { enrolment } = device
  const clock = createTrustedClock({ wall: Date.now, uptime: () => performance.now() })
  const active = createActivePolicy({
    clock,
    machineAddresses: () => [],
    localPolicies: [],
    home: null,
    controlPlane: controlPlane(enrolment.server),
  })
  const directory = join(folder, enrolment.device_id)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  let synchronizer: ReturnType<typeof createSynchronizer> | null = null
  return createFleetAgent({
    ...from,
    device,
    run: (fetchFile) => {
      const store = createStateStore(join(directory, 'policy'))
      const channel = createViewChannel({ enrolment, store, fetchFile, clock })
      const made = createSynchronizer({ active, channel, org: enrolment.org, clock: Date.now })
      synchronizer = made
      return (signal, isNewsExpected) => made.run(signal, isNewsExpected)
    },
    describe: () => describeReport(active, synchronizer?.record() ?? NO_ATTEMPTS, PROGRAM),
  })
}
