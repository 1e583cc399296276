import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A process of its own that answers requests, so that its work is not counted as a server's. */
export interface AskedChild<Request, Report> {
  ask(request: Request): Promise<Report>
  stop(): void
}

type Answer<Report> = { readonly report: Report } | { readonly failure: string }

/** Starts a script that calls `answerParent`. */
export function startChild<Request, Report>(script: string): AskedChild<Request, Report> {
  const child = fork(script, { serialization: 'advanced' })
  const ended = once(child, 'exit').then(([code]): [Answer<Report>] => [
    { failure: `the process exited with ${String(code)}` },
  ])
  return {
    async ask(request) {
      child.send(request as object)
      const answered = once(child, 'message') as Promise<[Answer<Report>]>
      const [answer] = await Promise.race([answered, ended])
      if ('failure' in answer) throw new Error(`\`${script}\` failed: ${answer.failure}`)
      return answer.report
    },
    stop: () => child.disconnect(),
  }
}

/** The other side: answers each request of the parent until that disconnects. */
export function answerParent(work: (request: never) => Promise<unknown>): void {
  process.on('message', (request) => {
    work(request as never).then(
      (report) => process.send?.({ report }),
      (error: unknown) => process.send?.({ failure: String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
