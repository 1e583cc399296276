import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { WorkerAnswer, WorkerRequest, WorkerTask } from './agent-worker.ts'
import type { Fleet } from './fill-fleet.ts'

const PATIENCE_MS = 10 * 60_000
/**
 * MiB. A machine's agent is alone on its heap, and one collection of it is small; hundreds on one heap are
 * collected all the time, on every processor: a fifth of what the machine did until the last of them had a change.
 * Without any the processor time of an agent is probably too little; `bench/README.md` says so.
 */
const HEAP_FLAGS = [
  '--min-semi-space-size=128',
  '--max-semi-space-size=256',
  '--initial-old-space-size=3000',
]

/** A fleet's agents, on as many threads as there are processors: on one they would wait for each other. */
export interface AgentThreads {
  /** So many more on each thread. */
  start(count: number): Promise<void>
  /** Resolves once all that run allow the host; rejects after ten minutes. */
  untilAllowed(host: string): Promise<WorkerAnswer>
  stop(): Promise<void>
}

export function startAgentThreads(fleet: Fleet, server: string): AgentThreads {
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
  const count = Math.min(availableParallelism(), fleet.machines.length)
  const workers = Array.from({ length: count }, (_, index) => {
    const machines = fleet.machines.filter((_machine, each) => each % count === index)
    const workerData: WorkerTask = { fleet: { ...fleet, machines }, server }
    return new Worker(new URL('agent-worker.ts', import.meta.url), { workerData })
  })

  async function askAll(request: WorkerRequest): Promise<WorkerAnswer> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answers = await Promise.all(
      workers.map(async (worker) => {
        const answered = once(worker, 'message', { signal })
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows, not of threads
        worker.postMessage(request)
        const [answer] = (await answered) as [WorkerAnswer]
        return answer
      }),
    )
    return {
      toldAtMs: answers.flatMap(({ toldAtMs }) => toldAtMs),
      allowedAtMs: answers.flatMap(({ allowedAtMs }) => allowedAtMs),
      silent: answers.reduce((sum, { silent }) => sum + silent, 0),
    }
  }

  return {
    async start(some) {
      await askAll({ kind: 'start', count: some })
    },
    untilAllowed: (host) => askAll({ kind: 'wait', host }),
    async stop() {
      await askAll({ kind: 'stop' })
    },
  }
}
