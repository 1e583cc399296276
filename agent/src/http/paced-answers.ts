import type { ClientRequest, InformationEvent } from 'node:http'
import { mendAnswer } from './mend-head.ts'
import { PacedStream } from './paced-stream.ts'

/** Limit for interim answers, such as 103. */
const MAX_INTERIM = 16

/** A connection to a server as an HTTP client reads it. Bytes after an answer end it. */
export class PacedAnswers extends PacedStream {
  protected override mendStart(received: Buffer): Buffer | null {
    return mendAnswer(received)
  }

  protected override onSurplus(): void {
    this.destroy()
  }
}

/** Paces the answer to a request. Passes the interim answers before it on, a limited number. */
export function paceAnswer(
  request: ClientRequest,
  onInterim: (answer: InformationEvent) => void = () => {},
): void {
  let interim = 0
  request.on('information', (answer) => {
    interim += 1
    if (request.socket instanceof PacedStream) request.socket.expectHead()
    if (interim > MAX_INTERIM) request.destroy(new Error('endless interim answers'))
    else onInterim(answer)
  })
  request.once('response', (response) => {
    if (response.socket instanceof PacedStream) response.socket.follow(response)
  })
}
