import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { hangUp } from './hang-up.ts'
import type { LoopTurns } from './loop-turns.ts'
import { PacedStream } from './paced-stream.ts'

/** Reading stops at this many unread bytes after a request that is not answered yet. */
const MAX_WAITING_BYTES = 16_384

/**
 * A client's connection as an HTTP server reads it. Each request waits for the answer before it.
 */
export class PacedConnection extends PacedStream {
  /** The answer in progress. */
  response: ServerResponse | null = null
  #request: IncomingMessage | null = null

  get client(): Socket {
    return this.wire
  }

  /** Call first for each request; the next request is read after its answer. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request
    this.response = response
    this.follow(request)
    response.once('close', () => {
      this.response = null
      this.goOnLater()
    })
  }

  /**
   * Does not wait for the client to end its side, as a server does by default. A client that still
   * sends its request gets a moment to read the answer.
   */
  destroySoon(): void {
    this.end()
    const leave = (): void => {
      if (this.wire.readableEnded) this.destroy()
      else hangUp(this.release(), '')
    }
    if (this.writableFinished) leave()
    else this.once('finish', leave)
  }

  protected override isHeld(): boolean {
    return this.response !== null && this.#request?.complete === true
  }

  /** Also reads while an answer is pending, because the client may hang up. */
  protected override readOn(held: number): void {
    if (held < MAX_WAITING_BYTES) this.wire.resume()
    else this.wire.pause()
  }
}

/**
 * Stops `server` from serving its connections. Returns a function that serves one in pieces.
 */
export function paceConnections(server: Server, turns: LoopTurns): (client: Socket) => void {
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  // The answer of Node without a listener, but tracked by `begin`, so that the next request waits.
  if (server.listenerCount('checkExpectation') === 0)
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      connectionOf(request).begin(request, response)
      response.writeHead(417).end()
    })
  return (client) => {
    const connection = new PacedConnection(client, turns)
    for (const listener of serve) listener.call(server, connection)
  }
}

/** The connection of a request. */
export function connectionOf({ socket }: { readonly socket: Duplex }): PacedConnection {
  if (!(socket instanceof PacedConnection)) throw new TypeError('the connection is not paced')
  return socket
}
