import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { hangUp } from './hang-up.ts'
import type { LoopTurns } from './loop-turns.ts'
import { mayBeRequest, mendRequest, type WrittenLine } from './mend-head.ts'
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
  readonly #mends: boolean
  /** The line of the request as it was sent, where the parser got another one. */
  #line: WrittenLine | null = null

  constructor(wire: Socket, turns: LoopTurns, mends: boolean) {
    super(wire, turns)
    this.#mends = mends
  }

  /** Method and target of the request, as they were sent. */
  lineOf({ method = '', url = '' }: IncomingMessage): WrittenLine {
    return this.#line ?? { method, target: url }
  }

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

  protected override mayMend(start: Buffer): boolean {
    return this.#mends && mayBeRequest(start)
  }

  protected override mendHead(head: Buffer): Buffer {
    const mended = mendRequest(head)
    this.#line = mended?.line ?? null
    return mended?.head ?? head
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
 * Stops `server` from serving its connections. Returns a function that serves one in pieces. With
 * `mends`, requests also have methods and targets that the parser of Node refuses.
 */
export function paceConnections(
  server: Server,
  turns: LoopTurns,
  { mends = false }: { readonly mends?: boolean } = {},
): (client: Socket) => void {
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  // The answer of Node without a listener, but tracked by `begin`, so that the next request waits.
  if (server.listenerCount('checkExpectation') === 0)
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      connectionOf(request).begin(request, response)
      response.writeHead(417).end()
    })
  return (client) => {
    const connection = new PacedConnection(client, turns, mends)
    for (const listener of serve) listener.call(server, connection)
  }
}

/** The connection of a request. */
export function connectionOf({ socket }: { readonly socket: Duplex }): PacedConnection {
  if (!(socket instanceof PacedConnection)) throw new TypeError('the connection is not paced')
  return socket
}
