import { parentPort, workerData } from 'node:worker_threads'
import type { Fleet } from './fill-fleet.ts'
import { createLightAgent, type LightAgent } from './light-agent.ts'
import { uptimeMs } from './uptime.ts'

/** Worker data of the thread. */
export interface WorkerTask {
  /** A fleet with only the machines of this thread. */
  readonly fleet: Fleet
  /** Origin of the server. */
  readonly server: string
}

/** `start` starts `count` more agents. `wait` waits until all running agents allow a host. */
export type WorkerRequest =
  | { readonly kind: 'start'; readonly count: number }
  | { readonly kind: 'wait'; readonly host: string }
  | { readonly kind: 'stop' }

/** Values of all running agents, in milliseconds of the machine's monotonic clock. */
export interface WorkerAnswer {
  readonly toldAtMs: readonly number[]
  readonly allowedAtMs: readonly number[]
  /** Number of agents whose hint requests fail. */
  readonly silent: number
}

const { fleet, server } = workerData as WorkerTask
const agents = fleet.machines.map((machine) => {
  const agent = createLightAgent(machine, fleet, server)
  return { agent, untilAllowed: createAllowWatcher(agent) }
})
let running: typeof agents = []

parentPort?.on('message', (request: WorkerRequest) => void answer(request))

async function answer(request: WorkerRequest): Promise<void> {
  let allowedAtMs: number[] = []
  if (request.kind === 'start') {
    const some = agents.slice(running.length, running.length + request.count)
    running = [...running, ...some]
    for (const { agent } of some) agent.start()
  }
  if (request.kind === 'wait')
    allowedAtMs = await Promise.all(running.map(({ untilAllowed }) => untilAllowed(request.host)))
  if (request.kind === 'stop') await Promise.all(running.map(({ agent }) => agent.stop()))
  const toldAtMs = running.map(({ agent }) => agent.toldAtMs())
  const silent = running.filter(({ agent }) => agent.hintsFailing() !== null).length
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- thread, no window
  parentPort?.postMessage({ toldAtMs, allowedAtMs, silent } satisfies WorkerAnswer)
  if (request.kind === 'stop') parentPort?.close()
}

/** Subscribes once: one listener per change would make each change slower than the last. */
function createAllowWatcher(agent: LightAgent): (host: string) => Promise<number> {
  let check = (): void => {}
  agent.subscribe(() => check())
  return (host) =>
    new Promise((resolve) => {
      check = () => {
        if (!agent.allows(host)) return
        check = () => {}
        resolve(uptimeMs())
      }
      check()
    })
}
