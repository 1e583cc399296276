import { createProver, type Prove } from '../../../packages/client/src/index.ts'
import type { DeviceReport } from '../../../packages/protocol/src/index.ts'
import { createReporter } from '../../../agent/src/report/reporter.ts'
import { createDeviceAccess } from '../../../agent/src/sync/transport/device-access.ts'
import { createPoller, type PollerDeps } from '../../../agent/src/sync/update/poller.ts'
import type { SyncOutcome } from '../../../agent/src/sync/update/synchronizer.ts'
import { type Schedule, createTimetable } from '../../../agent/src/sync/update/timetable.ts'
import { createFileFetcher, type FetchFile } from '../../../agent/src/sync/transport/fetch-file.ts'
import type { FleetDevice } from './fill-fleet.ts'

/** The values of `agent/src/container.ts`. */
const FETCH_TIMEOUT_MS = 20_000
const REPORT = { path: '/api/v1/device/report', maxBytes: 1024 } as const

export interface FleetAgentDeps {
  readonly device: FleetDevice
  readonly fetch: typeof globalThis.fetch
  readonly schedule: Schedule
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** The agent's position in each polling period, in the range [0, 1). */
  readonly phase: number
  /** Creates the function that makes one fetch attempt. */
  readonly run: (fetchFile: FetchFile) => PollerDeps['run']
  /** Null for an agent that sends no reports. */
  readonly describe: (() => DeviceReport) | null
  readonly onOutcome: (outcome: SyncOutcome) => void
}

/**
 * Connects the agent's own timetable, poller, reporter, token, proofs and requests as its container
 * does; `run` may be a simplified synchronizer. The agent starts in the state of a long-running
 * one: with a token, and with its first report received.
 */
export function createFleetAgent(deps: FleetAgentDeps): { start(): void } {
  const { device, describe } = deps
  const { server } = device.enrolment
  const { clock } = deps
  const random = Math.random
  const prove = device.key === null ? proveNothing : createProver(device.key, Date.now)
  const timeoutMs = FETCH_TIMEOUT_MS
  const fetch = withFirstToken(deps.fetch, device)
  const access = createDeviceAccess({ fetch, server, prove, timeoutMs, clock, random })
  const fetchFile = createFileFetcher({ fetch, server, prove, timeoutMs, access })
  const reporter = describe === null ? null : createFleetReporter(fetchFile, describe)
  const poller = createPoller({
    run: deps.run(fetchFile),
    timetable: createTimetable(deps.schedule, deps.phase, clock),
    clock,
    onError(error) {
      throw error
    },
  })
  poller.subscribe((outcome) => {
    deps.onOutcome(outcome)
    reporter?.notice()
  })
  return poller
}

/** An invalid proof. An agent without a key holds a token that outlives the run. */
const proveNothing: Prove = () => ''

function createFleetReporter(fetchFile: FetchFile, describe: () => DeviceReport) {
  let isKnown = false
  return createReporter({
    read: describe,
    random: Math.random,
    uptime: () => performance.now(),
    async send(report, signal) {
      const isFirst = !isKnown
      isKnown = true
      if (isFirst) return null
      const answer = await fetchFile({ ...REPORT, body: JSON.stringify(report) }, signal)
      if (answer.kind === 'body') return null
      return { retryAfterMs: (answer.kind === 'fault' && answer.retryAfterMs) || null }
    },
  })
}

/** Answers the first token request with the token that the machine already has. */
function withFirstToken(
  fetch: typeof globalThis.fetch,
  { token, expiresIn }: FleetDevice,
): typeof globalThis.fetch {
  let isUnused = true
  return async (input, init) => {
    if (!isUnused || typeof input !== 'string' || !input.endsWith('/api/v1/device/token'))
      return fetch(input, init)
    isUnused = false
    const answer = { access_token: token, token_type: 'DPoP', expires_in: expiresIn }
    return new Response(JSON.stringify(answer), { status: 200 })
  }
}
