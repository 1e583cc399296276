import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { WorkerAnswer, WorkerRequest, WorkerTask } from './agent-worker.ts'
import type { Fleet } from './fill-fleet.ts'

const ANSWER_TIMEOUT_MS = 10 * 60_000
/**
 * In MiB. A real agent has its own small heap, but these threads hold hundreds of agents each. A
 * large heap avoids frequent collections, which would delay all agents. The agents' processor time
 * therefore excludes most garbage collection.
 */
const HEAP_FLAGS = [
  '--min-semi-space-size=128',
  '--max-semi-space-size=256',
  '--initial-old-space-size=3000',
]

/** The agents of a fleet, on one thread per processor. */
export interface AgentThreads {
  /** Starts `count` more agents on each thread. */
  start(count: number): Promise<void>
  /** Resolves once all running agents allow the host. Rejects after ten minutes. */
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
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const answers = await Promise.all(
      workers.map(async (worker) => {
        const answered = once(worker, 'message', { signal })
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- thread, no window
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
    async start(more) {
      await askAll({ kind: 'start', count: more })
    },
    untilAllowed: (host) => askAll({ kind: 'wait', host }),
    async stop() {
      await askAll({ kind: 'stop' })
    },
  }
}
