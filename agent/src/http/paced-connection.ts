import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { hangUp } from './hang-up.ts'
import type { LoopTurns } from './loop-turns.ts'
import { mendRequest, type WrittenLine } from './mend-head.ts'
import { PacedStream } from './paced-stream.ts'

/** Reading stops at this many unread bytes after a request that is not answered yet. */
const MAX_WAITING_BYTES = 16_384

/** Time for a first line that may need a mend; then the parser gets it, with its own limit. */
const LINE_TIMEOUT_MS = 5_000

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
  /** When the first line began that is not complete. */
  #lineSinceMs: number | null = null

  constructor(wire: Socket, turns: LoopTurns, mends: boolean) {
    super(wire, turns)
    this.#mends = mends
  }

  get client(): Socket {
    return this.wire
  }

  /** Call first for each request; the next request is read after its answer. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#restoreLine(request)
    this.#request = request
    this.response = response
    this.follow(request)
    response.once('close', () => {
      this.response = null
      this.goOnLater()
    })
  }

  /** Call in place of `begin` for a request that asks for a tunnel; `head` came after it. */
  takeOver(request: IncomingMessage, head: Buffer): Socket {
    this.#restoreLine(request)
    return this.release(head)
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

  /** Method and target become those that the client wrote. */
  #restoreLine(request: IncomingMessage): void {
    if (this.#line !== null) Object.assign(request, this.#line)
  }

  protected override mendStart(received: Buffer): Buffer | null {
    const mended = this.#mends ? mendRequest(received) : { bytes: received, line: null }
    this.#line = mended?.line ?? null
    if (mended === null && !this.#isLate()) return null
    this.#lineSinceMs = null
    return mended?.bytes ?? received
  }

  /** Needs no timer: a silent client is closed by the server. */
  #isLate(): boolean {
    this.#lineSinceMs ??= performance.now()
    return performance.now() - this.#lineSinceMs > LINE_TIMEOUT_MS
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
