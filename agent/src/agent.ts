import type { Fetch } from '@palisade/client'
import type { Policy } from '@palisade/policy-core'
import type { DeviceKey, KeptEnrolment, LocalDeny } from '@palisade/protocol'
import type { Server } from 'node:http'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { AgentLog } from './host/agent-log.ts'
import type { AgentConfig } from './host/config/config.ts'
import type { ParentAccess } from './host/config/read-parent-access.ts'
import { createTimeKeeper } from './policy/state/trusted-clock.ts'
import type { SpentGrants } from './grants/access/spent-grants.ts'
import type { BreakGlass } from './grants/break-glass/break-glass.ts'
import type { ActivePolicy } from './policy/decision/active-policy.ts'
import { watchAge, type AgeWatch } from './policy/decision/age-watch.ts'
import type { Uploader } from './records/upload/uploader.ts'
import type { HintListener } from './sync/hint/hint-listener.ts'
import type { AdmitCaller } from './local-api/peers.ts'
import { claimSocket, listenOnSocket } from './local-api/listen-on-socket.ts'
import { describePoints, type EnforcementPoint } from './enforcement/enforcement-point.ts'
import type { Recorder } from './records/recorder.ts'
import type { Prober } from './probe/proxy/prober.ts'
import type { Reporter } from './report/reporter.ts'
import type { Poller } from './sync/update/poller.ts'
import type { Synchronizer } from './sync/update/synchronizer.ts'

const ANSWER_FIRST_MS = 20
const TIME_NOT_KEPT = 'the time cannot be written to disk'

/** Inputs of the agent from its environment. The container creates all other parts. */
export interface AgentEnvironment {
  readonly config: AgentConfig
  /** Present where the agent serves all users. */
  readonly admit?: AdmitCaller | undefined
  /** Null without a parent proxy. */
  readonly parentAccess: ParentAccess | null
  readonly enrolment: KeptEnrolment
  /** Private key of this machine. */
  readonly key: DeviceKey
  /** Policies of PALISADE_LOCAL_POLICIES. */
  readonly localPolicies: readonly Policy[]
  /** The user's own denies, as they were read from their file. */
  readonly localDenies: readonly LocalDeny[]
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
  /** Called with a bug, which does not end the agent. */
  readonly onError: (error: unknown) => void
  /** Requests and tunnels of the proxy at once. */
  readonly maxConnections: number
}

export interface AgentDeps {
  readonly localApi: Server
  readonly socketPath: string
  readonly users: AgentConfig['users']
  /** In start order. */
  readonly points: readonly EnforcementPoint[]
  readonly sandboxes: { recover(): Promise<void>; stop(): Promise<void> }
  readonly recorder: Pick<Recorder, 'stop'>
  readonly spent: Pick<SpentGrants, 'restore'>
  readonly synchronizer: Pick<Synchronizer, 'restoreTime' | 'restore' | 'keepTime'>
  readonly breakGlass: Pick<BreakGlass, 'restore' | 'stop' | 'remainingMs' | 'tick'>
  readonly poller: Poller
  readonly reporter: Reporter
  readonly uploader: Pick<Uploader, 'stop'>
  readonly hints: Pick<HintListener, 'start' | 'stop'>
  readonly prober: Pick<Prober, 'start' | 'stop'>
  readonly active: ActivePolicy
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** Called with an error of an age check, and with errors of a stop that `stop` does not throw. */
  readonly onError: (error: unknown) => void
  readonly log: AgentLog
}

export interface Agent {
  /**
   * Resolves once programs are answered; the first fetch has begun by then. Throws `AgentError`.
   */
  start(): Promise<void>
  /** Idempotent. Closes parts in reverse order of opening, and continues after a failure. */
  stop(): Promise<void>
}

export function createAgent(deps: AgentDeps): Agent {
  const closers: (() => Promise<void>)[] = []

  const stop = async (): Promise<void> => {
    const failures: unknown[] = []
    for (let close = closers.pop(); close !== undefined; close = closers.pop())
      // A failed close must not leave the parts below it open.
      await close().catch((error: unknown) => failures.push(error))
    const [first, ...others] = failures
    others.forEach(deps.onError)
    if (failures.length > 0) throw first
  }

  const open = async (): Promise<void> => {
    await claimSocket(deps.socketPath, deps.users)
    // A grant counts as spent by the time, where the files that name it are damaged.
    await deps.synchronizer.restoreTime()
    // Before any policy is in force, which would allow a spent grant once more.
    await deps.spent.restore()
    const problem = await deps.synchronizer.restore()
    if (problem !== null) deps.log.error(problem, 'the cached bundle cannot be used')
    await deps.breakGlass.restore()
    // Stopped after the points and the local API, which record their last events.
    closers.push(() => deps.recorder.stop())
    for (const point of deps.points) {
      // Registered before `start`, because a failed start may leave resources open.
      closers.push(() => point.stop())
      await point.start()
    }
    await deps.sandboxes.recover()
    closers.push(() => deps.sandboxes.stop())
    // The socket comes last: a client that finds it can rely on all other parts.
    await listenOnSocket(deps.localApi, deps.socketPath, deps.users)
    closers.push(() => closeServer(deps.localApi))
    const ageWatch = watchAgeOf(deps)
    closers.push(async () => {
      ageWatch.stop()
      await deps.breakGlass.stop()
      await deps.synchronizer.keepTime().catch((err: unknown) => {
        deps.log.warn({ err }, TIME_NOT_KEPT)
      })
    })
    // Registered before the poller, which notifies them, so that it stops before them.
    closers.push(() => deps.reporter.stop())
    closers.push(() => deps.uploader.stop())
    closers.push(() => deps.hints.stop())
    // Callers that waited for the socket are answered from the cached policy first, because the
    // first request to the server loads much code.
    await setTimeout(ANSWER_FIRST_MS)
    deps.poller.start()
    deps.hints.start()
    closers.push(() => deps.poller.stop())
    deps.prober.start()
    closers.push(() => deps.prober.stop())
  }

  return {
    async start() {
      try {
        await open()
      } catch (error) {
        await stop().catch(deps.onError)
        throw error
      }
      deps.log.info({ ...describePoints(deps.points), socket: deps.socketPath }, 'agent started')
    },
    stop,
  }
}

/** Also keeps the time on disk and pays for a grant. */
function watchAgeOf(deps: AgentDeps): AgeWatch {
  const { active, breakGlass, synchronizer, uptime, log } = deps
  const keepTime = createTimeKeeper({
    keep: synchronizer.keepTime,
    uptime,
    hasExpiry: () => active.nextExpiryMs() !== null,
    onError: (err) => log.warn({ err }, TIME_NOT_KEPT),
  })
  // An end that is on disk stays one, also when the clock is set back over a restart.
  let nextMs = active.nextExpiryMs()
  active.subscribe(() => {
    const isOver = nextMs !== null && nextMs <= active.now()
    nextMs = active.nextExpiryMs()
    if (isOver)
      synchronizer.keepTime().catch((err: unknown) => {
        log.warn({ err }, TIME_NOT_KEPT)
      })
  })
  return watchAge(active, active.now, {
    grantRemainingMs: breakGlass.remainingMs,
    onCheck() {
      keepTime()
      void breakGlass.tick()
    },
    onError: deps.onError,
  })
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
