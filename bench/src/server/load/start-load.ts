import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadReport, LoadRequest } from './load-request.ts'

/** A process that generates load, separate so that its work is not counted as the server's. */
export interface Load {
  ask(request: LoadRequest & { kind: 'define' }): Promise<null>
  ask(request: LoadRequest & { kind: 'prime' | 'run' | 'pace' | 'saturate' }): Promise<LoadReport>
  stop(): void
}

export function startLoad(): Load {
  const child = fork(join(import.meta.dirname, 'child.ts'), { serialization: 'advanced' })
  const ended = once(child, 'exit').then(([code]) => [
    { failure: `the process exited with ${String(code)}` },
  ])
  async function ask(request: LoadRequest): Promise<never> {
    child.send(request)
    const [answer] = (await Promise.race([once(child, 'message'), ended])) as [
      { report?: unknown; failure?: string },
    ]
    if (answer.failure !== undefined) throw new Error(`the load failed: ${answer.failure}`)
    return answer.report as never
  }
  return { ask, stop: () => child.disconnect() }
}
