import { setTimeout as pause } from 'node:timers/promises'
import { createActivePolicy } from '../../../agent/src/decision/active-policy.ts'
import { askForHint } from '../../../agent/src/hint/ask-for-hint.ts'
import { createHintListener } from '../../../agent/src/hint/hint-listener.ts'
import { reportToServer } from '../../../agent/src/report/report-to-server.ts'
import { createTrustedClock } from '../../../agent/src/state/trusted-clock.ts'
import { createDeviceAccess } from '../../../agent/src/sync/transport/device-access.ts'
import { createHttpFetch } from '../../../agent/src/sync/transport/fetch-over-http.ts'
import { createPoller } from '../../../agent/src/sync/update/poller.ts'
import { createSynchronizer } from '../../../agent/src/sync/update/synchronizer.ts'
import { createViewChannel } from '../../../agent/src/sync/update/view-channel.ts'
import { createFileFetcher } from '../../../agent/src/sync/transport/fetch-file.ts'
import { createProver } from '../../../packages/client/src/device/proof.ts'
import type { Fleet, FleetMachine } from './fill-fleet.ts'
import { createMemoryStore } from './memory-store.ts'
import { uptimeMs } from './uptime.ts'

const FETCH_TIMEOUT_MS = 20_000
const HINT_TIMEOUT_MS = 65_000

/** An agent reduced to the path from a hint to a policy in force. */
export interface LightAgent {
  start(): void
  /** Whether the policy in force allows a connection to this host. */
  allows(host: string): boolean
  /** Calls the listener whenever the policy in force changes. */
  subscribe(listener: () => void): void
  /**
   * When the last hint of a change arrived, by the monotonic clock; before the spread and the poll.
   */
  toldAtMs(): number
  /** Since when hint requests fail; null while they succeed. */
  hintsFailing(): string | null
  stop(): Promise<void>
}

/**
 * Connects the agent's own parts as its container does, without disk, proxy and local API. The
 * timetable is disabled, so that only hints cause updates.
 */
export function createLightAgent(
  { deviceId, key }: FleetMachine,
  { org, root }: Fleet,
  server: string,
): LightAgent {
  const clock = Date.now
  const uptime = uptimeMs
  const random = Math.random
  const time = createTrustedClock({ wall: clock, uptime })
  const active = createActivePolicy({
    clock: time,
    machineAddresses: () => [],
    localPolicies: [],
    home: null,
    controlPlane: [],
  })
  const fetch = createHttpFetch()
  const wire = { fetch, server, prove: createProver(key, clock), timeoutMs: FETCH_TIMEOUT_MS }
  const fetchFile = createFileFetcher({
    ...wire,
    access: createDeviceAccess({ ...wire, clock, random }),
  })
  const enrolment = { server, org, user: null, device_id: deviceId, root }
  const channel = createViewChannel({
    enrolment,
    store: createMemoryStore(),
    fetchFile,
    clock: time,
  })
  const synchronizer = createSynchronizer({ active, channel, org, clock })
  const reporter = reportToServer({
    active,
    breakGlass: { inForce: () => null },
    probes: () => ({ proxy: null, sandbox: null, strict: null }),
    assurance: () => ({ class: 'decisions-only', reason: null }),
    record: () => synchronizer.record(),
    fetchFile,
    version: 'bench',
    random,
    uptime,
    log: { debug: () => {} },
  })
  const poller = createPoller({
    run: (signal, isNewsExpected) => synchronizer.run(signal, isNewsExpected),
    timetable: { start: () => {}, stop: () => {}, nextAt: () => null },
    clock,
    onError(error) {
      throw error
    },
  })
  poller.subscribe(() => reporter.notice())
  let toldAtMs = 0
  const hints = createHintListener({
    async ask(question, signal) {
      const answer = await askForHint(fetchFile, HINT_TIMEOUT_MS, question, signal)
      const isNews = answer.kind === 'hint' && answer.hint.revision !== question.since
      if (isNews) toldAtMs = uptime()
      return answer
    },
    assignment: () => 0,
    poll: () => poller.hinted(),
    holdBack: (ms) => reporter.holdBack(ms),
    rest: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined),
    clock,
    uptime,
    random,
  })
  return {
    start() {
      poller.start()
      hints.start()
    },
    allows: (host) =>
      active.decide({ action: 'connect:tcp', host, port: 443 }).decision === 'allow',
    subscribe: (listener) => active.subscribe(listener),
    toldAtMs: () => toldAtMs,
    hintsFailing: () => hints.status().failing_since,
    async stop() {
      await poller.stop()
      await hints.stop()
      await reporter.stop()
    },
  }
}
