import { parentPort, workerData } from 'node:worker_threads'
import type { Fleet } from './fill-fleet.ts'
import { createLightAgent, type LightAgent } from './light-agent.ts'
import { uptimeMs } from './uptime.ts'

/** What the thread is made with. */
export interface WorkerTask {
  /** With the machines of this thread alone. */
  readonly fleet: Fleet
  /** Origin. */
  readonly server: string
}

/** `start` so many more agents, or `wait` until all that run allow a host. */
export type WorkerRequest =
  | { readonly kind: 'start'; readonly count: number }
  | { readonly kind: 'wait'; readonly host: string }
  | { readonly kind: 'stop' }

/** Of every agent that runs, by the machine's monotonic clock in milliseconds. */
export interface WorkerAnswer {
  readonly toldAtMs: readonly number[]
  readonly allowedAtMs: readonly number[]
  /** How many hear no hints. */
  readonly silent: number
}

const { fleet, server } = workerData as WorkerTask
const agents = fleet.machines.map((machine) => {
  const agent = createLightAgent(machine, fleet, server)
  return { agent, untilAllowed: createLookout(agent) }
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
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows, not of threads
  parentPort?.postMessage({ toldAtMs, allowedAtMs, silent } satisfies WorkerAnswer)
  if (request.kind === 'stop') parentPort?.close()
}

/** Subscribed once: a listener for each change would make each change dearer than the one before. */
function createLookout(agent: LightAgent): (host: string) => Promise<number> {
  let look = (): void => {}
  agent.subscribe(() => look())
  return (host) =>
    new Promise((resolve) => {
      look = () => {
        if (!agent.allows(host)) return
        look = () => {}
        resolve(uptimeMs())
      }
      look()
    })
}
