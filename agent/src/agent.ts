import type { Server } from 'node:http'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { BreakGlass } from './break-glass/break-glass.ts'
import type { AgeWatch } from './decision/age-watch.ts'
import type { HintListener } from './hint/hint-listener.ts'
import { claimSocket, listenOnSocket } from './local-api/listen-on-socket.ts'
import type { HttpProxy } from './proxy/http-proxy.ts'
import type { Reporter } from './report/reporter.ts'
import type { Poller } from './sync/update/poller.ts'
import type { CacheProblem, Synchronizer } from './sync/update/synchronizer.ts'

const ANSWER_FIRST_MS = 20

/** The levels that the agent writes. */
export type AgentLog = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

export interface AgentDeps {
  readonly localApi: Server
  readonly socketPath: string
  readonly proxy: HttpProxy
  readonly proxyPort: number
  readonly synchronizer: Pick<Synchronizer, 'restore' | 'keepTime'>
  readonly breakGlass: Pick<BreakGlass, 'restore' | 'stop'>
  readonly poller: Poller
  readonly reporter: Reporter
  /** Null when they are not wanted. */
  readonly hints: Pick<HintListener, 'start' | 'stop'> | null
  readonly watchAge: () => AgeWatch
  readonly onCacheProblem: (problem: CacheProblem) => void
  readonly log: AgentLog
}

export interface Agent {
  /** Resolves when programs are answered; the first fetch is under way then. Throws `AgentError`. */
  start(): Promise<void>
  /** Idempotent. Closes in the reverse order of opening. */
  stop(): Promise<void>
}

export function createAgent(deps: AgentDeps): Agent {
  const closers: (() => Promise<void>)[] = []

  const stop = async (): Promise<void> => {
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close()
  }

  const open = async (): Promise<void> => {
    await claimSocket(deps.socketPath)
    const problem = await deps.synchronizer.restore()
    if (problem !== null) {
      deps.log.error(problem, 'the cached bundle cannot be used')
      deps.onCacheProblem(problem)
    }
    await deps.breakGlass.restore()
    await deps.proxy.listen(deps.proxyPort)
    closers.push(() => deps.proxy.stop())
    // The socket comes last: once it is there, the agent is all there.
    await listenOnSocket(deps.localApi, deps.socketPath)
    closers.push(() => closeServer(deps.localApi))
    const ageWatch = deps.watchAge()
    closers.push(async () => {
      ageWatch.stop()
      await deps.breakGlass.stop()
      await deps.synchronizer.keepTime().catch((err: unknown) => {
        deps.log.warn({ err }, 'the time cannot be kept on disk')
      })
    })
    // First what polling may tell of.
    closers.push(() => deps.reporter.stop())
    closers.push(async () => deps.hints?.stop())
    // Who has waited for the socket is answered by what was kept, before all that asking the server
    // loads: it is a sixth of the start.
    await setTimeout(ANSWER_FIRST_MS)
    deps.poller.start()
    deps.hints?.start()
    closers.push(() => deps.poller.stop())
  }

  return {
    async start() {
      try {
        await open()
      } catch (error) {
        await stop()
        throw error
      }
      deps.log.info({ proxy: deps.proxy.url(), socket: deps.socketPath }, 'agent started')
    },
    stop,
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
