import type { ClientRequest } from 'node:http'
import { PacedStream } from './paced-stream.ts'

/** Limit for interim answers, such as 103, which are read and dropped. */
const MAX_INTERIM = 16

/** A connection to a server as an HTTP client reads it. Bytes after an answer end it. */
export class PacedAnswers extends PacedStream {
  protected override onSurplus(): void {
    this.destroy()
  }
}

/** Paces the answer to a request, and limits the interim answers before it. */
export function paceAnswer(request: ClientRequest): void {
  let interim = 0
  request.on('information', () => {
    interim += 1
    if (interim > MAX_INTERIM)
      request.destroy(new Error('the server sends endless interim answers'))
  })
  request.once('response', (response) => {
    if (response.socket instanceof PacedStream) response.socket.follow(response)
  })
}
