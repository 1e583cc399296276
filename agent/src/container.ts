// First: tsyringe throws on import without `Reflect.getMetadata`.
import '@abraham/reflection'
import type { Fetch } from '@palisade/client'
import type { Policy } from '@palisade/policy-core'
import type { DeviceKey, KeptEnrolment } from '@palisade/protocol'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { container as root, instanceCachingFactory, type InjectionToken } from 'tsyringe'
import { createAgent, type Agent, type AgentLog } from './agent.ts'
import type { AgentConfig } from './config/config.ts'
import { answerBreakGlass } from './break-glass/answer-break-glass.ts'
import { createBreakGlass, type BreakGlass } from './break-glass/break-glass.ts'
import { createActivePolicy, type ActivePolicy } from './decision/active-policy.ts'
import { watchAge } from './decision/age-watch.ts'
import { createDecisionTally, type DecisionTally } from './decision/decision-tally.ts'
import { controlPlane } from './decision/offline.ts'
import { hasSecondEnrolment } from './enrol/second-enrolment.ts'
import { askForHint } from './hint/ask-for-hint.ts'
import { createHintListener, HINTS_OFF, type HintListener } from './hint/hint-listener.ts'
import { describeAgent } from './local-api/agent-status.ts'
import { logStates } from './log-states.ts'
import { createLocalApi } from './local-api/local-api.ts'
import { TAKE_MS } from './proxy/await-taken.ts'
import { decideAsAsked } from './proxy/decide-as-proxy.ts'
import { createDial } from './proxy/dial.ts'
import { createHttpProxy, type HttpProxy } from './proxy/http-proxy.ts'
import { createLiveConnections, type LiveConnections } from './proxy/live-connections.ts'
import { createNearMisses } from './proxy/near-misses.ts'
import { rejudgeOnChange } from './proxy/rejudge-on-change.ts'
import { createResolver, type Resolve } from './proxy/resolver.ts'
import { reportToServer } from './report/report-to-server.ts'
import type { Reporter } from './report/reporter.ts'
import { createTimeKeeper, createTrustedClock, type TrustedClock } from './state/trusted-clock.ts'
import { answerSync } from './sync/update/answer-sync.ts'
import { fetchAsDevice } from './sync/transport/fetch-file.ts'
import { createPoller, type Poller } from './sync/update/poller.ts'
import { createSelfTestMemory } from './sync/state/self-test-memory.ts'
import {
  createSynchronizer,
  type CacheProblem,
  type Synchronizer,
} from './sync/update/synchronizer.ts'
import { createStateStore } from './sync/state/state-store.ts'
import { createSchedule, createTimetable } from './sync/update/timetable.ts'
import { createViewChannel, type ViewChannel } from './sync/update/view-channel.ts'

/** Longer than a server waits. */
const HINT_TIMEOUT_MS = 65_000
const RESOLVE_TIMEOUT_MS = 5_000
const DIAL_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 10 * 60_000
const MAX_CONNECTIONS = 1024

/** What the agent takes from outside; everything else is made here. */
export interface AgentSurroundings {
  readonly config: AgentConfig
  readonly enrolment: KeptEnrolment
  /** Of this machine. */
  readonly key: DeviceKey
  readonly localPolicies: readonly Policy[]
  readonly home: string | null
  readonly version: string
  readonly log: AgentLog
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
  readonly fetch: Fetch
  readonly machineAddresses: () => readonly string[]
}

/** Puts the agent together. Nothing is opened before `start`. */
export function createContainer(from: AgentSurroundings): { readonly agent: Agent } {
  const registry = createRegistry()
  const { get } = registry
  const { config, clock, log } = from
  const parts: Parts = {
    ...from,
    registry,
    resolve: createResolver(config.dnsServers, RESOLVE_TIMEOUT_MS),
    onError: (err) => log.error({ err }, 'unexpected error'),
  }
  const decisions = provideDecisions(parts, () => get(sync.breakGlass).isOver())
  const sync = provideSync(parts, decisions)
  const proxy = provideProxy(parts, decisions)
  const startedAtMs = clock()
  let cacheProblem: CacheProblem | null = null
  const decided = () => ({ active: get(decisions.active), tally: get(decisions.tally) })

  const localApi = registry.provide<Server>('LocalApi', () =>
    createLocalApi({
      ...decideAsAsked({ ...parts, ...decided(), isSelf: get(proxy).isSelf }),
      status: () =>
        describeAgent({
          ...from,
          startedAtMs,
          ...decided(),
          breakGlass: get(sync.breakGlass),
          record: () => get(sync.synchronizer).record(),
          awaited: () => get(sync.synchronizer).awaited(),
          poller: get(sync.poller),
          hints: () => get(sync.hints)?.status() ?? HINTS_OFF,
          proxyUrl: () => get(proxy).url(),
          cacheProblem: () => cacheProblem,
        }),
      ...answerSync({
        ...parts,
        active: () => get(decisions.active),
        synchronizer: () => get(sync.synchronizer),
        poller: () => get(sync.poller),
      }),
      ...answerBreakGlass({
        breakGlass: () => get(sync.breakGlass),
        inTurn: (run) => get(sync.poller).inTurn(run),
        log,
      }),
      takeMs: TAKE_MS,
      onError: parts.onError,
    }),
  )
  const agent = registry.provide<Agent>('Agent', () =>
    createAgent({
      localApi: get(localApi),
      socketPath: config.socketPath,
      proxy: get(proxy),
      proxyPort: config.proxyPort,
      synchronizer: {
        keepTime: () => get(sync.synchronizer).keepTime(),
        // Before anything is in force.
        restore: () => sync.countEnrolments().then(() => get(sync.synchronizer).restore()),
      },
      breakGlass: get(sync.breakGlass),
      poller: get(sync.poller),
      reporter: get(sync.reporter),
      hints: get(sync.hints),
      watchAge: () => {
        const onError = (err: unknown): void => log.warn({ err }, 'the time cannot be kept on disk')
        const keeper = createTimeKeeper({
          keep: get(sync.synchronizer).keepTime,
          uptime: from.uptime,
          onError,
        })
        return watchAge(get(decisions.active), get(decisions.time).now, {
          grantRestMs: () => get(sync.breakGlass).restMs(),
          onLook() {
            keeper()
            void get(sync.breakGlass).look()
          },
          onError: parts.onError,
        })
      },
      onCacheProblem: (problem) => {
        cacheProblem = problem
      },
      log,
    }),
  )
  return { agent: get(agent) }
}

interface Registry {
  /** Registers a part that is made once, when it is first asked for. */
  provide<T>(name: string, create: () => T): InjectionToken<T>
  get<T>(token: InjectionToken<T>): T
}

interface Parts extends AgentSurroundings {
  readonly registry: Registry
  readonly resolve: Resolve
  readonly onError: (error: unknown) => void
}

function createRegistry(): Registry {
  const container = root.createChildContainer()
  return {
    // INVARIANT: every `create` is a new function; tsyringe caches by function, so one that lives
    // in a module would hand one agent's parts to the next.
    provide: <T>(name: string, create: () => T) => {
      const token = createToken<T>(name)
      container.register(token, { useFactory: instanceCachingFactory(create) })
      return token
    },
    get: <T>(token: InjectionToken<T>) => container.resolve(token),
  }
}

/** A bare `Symbol` would lose its type by narrowing, and any value would pass for it. */
function createToken<T>(name: string): InjectionToken<T> {
  return Symbol(name)
}

interface DecisionTokens {
  readonly active: InjectionToken<ActivePolicy>
  readonly time: InjectionToken<TrustedClock>
  readonly tally: InjectionToken<DecisionTally>
  readonly live: InjectionToken<LiveConnections>
}

function provideDecisions(
  { registry, log, ...from }: Parts,
  isGrantOver: () => boolean,
): DecisionTokens {
  const { provide, get } = registry
  const time = provide('TrustedClock', () =>
    createTrustedClock({ wall: from.clock, uptime: from.uptime }),
  )
  const active = provide('ActivePolicy', () => {
    const policy = createActivePolicy({
      ...from,
      isGrantOver,
      clock: get(time),
      controlPlane: controlPlane(from.enrolment.server),
    })
    logStates(policy, log)
    return policy
  })
  const tally = provide('DecisionTally', () => createDecisionTally())
  const live = provide('LiveConnections', () => {
    const connections = createLiveConnections(get(active).decide, MAX_CONNECTIONS)
    rejudgeOnChange({ ...from, log, active: get(active), live: connections })
    return connections
  })
  return { active, time, tally, live }
}

interface SyncTokens {
  readonly synchronizer: InjectionToken<Synchronizer>
  readonly poller: InjectionToken<Poller>
  readonly reporter: InjectionToken<Reporter>
  /** Null when they are not wanted. */
  readonly hints: InjectionToken<HintListener | null>
  readonly breakGlass: InjectionToken<BreakGlass>
  /** Looks whether another organization claims the machine. */
  readonly countEnrolments: () => Promise<void>
}

function provideSync(parts: Parts, { active, time }: DecisionTokens): SyncTokens {
  const { registry, config, enrolment, clock, log, random, onError } = parts
  const { provide, get } = registry
  const countEnrolments = async (): Promise<void> => {
    const isSecond = await hasSecondEnrolment(config, enrolment)
    get(active).apply({ kind: isSecond ? 'second_enrolment' : 'single_enrolment' })
  }
  const fetchFile = provide('FetchFile', () => fetchAsDevice({ ...parts, now: get(time).now }))
  const directory = join(config.agentDir, 'policy')
  const store = provide('StateStore', () => createStateStore(directory))
  const channel = provide<ViewChannel>('ViewChannel', () => {
    const links = { store: get(store), fetchFile: get(fetchFile), clock: get(time) }
    return createViewChannel({ enrolment, ...links })
  })
  const synchronizer = provide('Synchronizer', () => {
    const selfTests = createSelfTestMemory({ ...parts, directory })
    const links = { active: get(active), channel: get(channel), selfTests }
    const { uptime } = parts
    return createSynchronizer({ ...links, org: enrolment.org, clock, uptime, onError })
  })
  const breakGlass = provide<BreakGlass>('BreakGlass', () =>
    createBreakGlass({
      ...parts,
      active: get(active),
      channel: get(channel),
      store: get(store),
      clock: get(time),
      inTurn: (run) => get(poller).inTurn(run),
    }),
  )
  const poller: InjectionToken<Poller> = provide('Poller', () =>
    createPoller({
      run: (...asked) => countEnrolments().then(() => get(synchronizer).run(...asked)),
      timetable: createTimetable(createSchedule(config.syncSchedule, clock), random(), clock),
      clock,
      onError,
      onOutcome: ({ outcome, revision, error }) => {
        if (outcome === 'failed') log.warn({ revision, error }, 'sync failed')
        else log.info({ outcome, revision }, 'sync succeeded')
        get(reporter).notice()
      },
    }),
  )
  const reporter = provide('Reporter', () =>
    reportToServer({
      ...parts,
      active: get(active),
      breakGlass: get(breakGlass),
      record: () => get(synchronizer).record(),
      fetchFile: get(fetchFile),
    }),
  )
  const hints = provide<HintListener | null>('Hints', () =>
    config.hints
      ? createHintListener({
          ...parts,
          ask: (since, signal) => askForHint(get(fetchFile), HINT_TIMEOUT_MS, since, signal),
          rest: (ms, signal) => pause(ms, undefined, { signal, ref: false }).catch(() => undefined),
          poll: () => get(poller).hinted(),
          holdBack: (ms) => get(reporter).holdBack(ms),
        })
      : null,
  )
  return { synchronizer, poller, reporter, breakGlass, hints, countEnrolments }
}

function provideProxy(parts: Parts, tokens: DecisionTokens): InjectionToken<HttpProxy> {
  const { provide, get } = parts.registry
  return provide('HttpProxy', () =>
    createHttpProxy({
      ...parts,
      decide: get(tokens.active).decide,
      dial: createDial(DIAL_TIMEOUT_MS),
      live: get(tokens.live),
      idleMs: IDLE_TIMEOUT_MS,
      takeMs: TAKE_MS,
      maxConnections: 2 * MAX_CONNECTIONS,
      bodyRate: { bytes: 3_000, windowMs: 30_000 },
      nearMisses: createNearMisses(get(tokens.active).explain, parts.uptime),
      onDecision: (decided) => {
        get(tokens.tally).add(decided)
        const { decision, reason, request, revision, break_glass } = decided
        parts.log.debug({ decision, reason, request, revision, break_glass }, 'decided')
      },
    }),
  )
}
