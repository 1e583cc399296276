import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { createLoopTurns, type LoopTurns } from './loop-turns.ts'

/** Where a head ends, and a chunked body. */
const END = '\r\n\r\n'
const EMPTY = Buffer.alloc(0)

/** Of the first piece in a turn, room for most heads; each further one is twice as long. */
const FIRST_PIECE_BYTES = 512
/** Hundreds of chunks of a byte, which take some milliseconds. */
const MAX_PIECE_BYTES = 4_096

/** Behind a request that has no answer yet; beyond it nothing more is read. */
const MAX_WAITING_BYTES = 16_384

type Done = (error?: Error | null) => void

/**
 * A client's connection as the HTTP server reads it: no request before the one before it is answered.
 *
 * Node parses whatever a read brings in one turn, thousands of pipelined requests or chunks, and a
 * paused socket does not stop it. So the server gets pieces that hold the end of one head at most, and the
 * next one only when the answer is written. Whatever is behind the first piece, but a body of known length,
 * shares some milliseconds of each turn with all other connections.
 */
export class PacedConnection extends Duplex {
  readonly client: Socket
  /** The answer that is not written yet. */
  response: ServerResponse | null = null
  readonly #turns: LoopTurns
  #request: IncomingMessage | null = null
  /** What the server has not got yet; never empty. */
  #received: Buffer | null = null
  #hasEnded = false
  #isReleased = false
  #isWaiting = false
  /** The last bytes that the server has got, where `END` may have begun. */
  #tail: Buffer = EMPTY
  /** Of a body of known length, still to come. */
  #bodyBytes = 0

  constructor(client: Socket, turns: LoopTurns) {
    super({ allowHalfOpen: true, decodeStrings: false })
    this.client = client
    this.#turns = turns
    client.on('data', this.#take)
    client.once('end', this.#end)
    client.on('timeout', this.#timeOut)
    client.on('error', this.#fail)
    client.once('close', this.#close)
    // Deferred: the server may pause again in its own listener.
    this.on('resume', () => process.nextTick(() => this.#goOn()))
  }

  /** To be called for each request before anything else: nothing behind it is read before its answer. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request
    this.response = response
    this.#bodyBytes = Number(request.headers['content-length'] ?? 0)
    response.once('close', () => {
      this.response = null
      if (this.#received !== null) this.#wait()
    })
  }

  /** Takes the connection out of the server, with `head` and all that has come behind it unread. */
  release(head: Buffer = EMPTY): Socket {
    const { client } = this
    client.pause()
    client.off('data', this.#take).off('end', this.#end).off('timeout', this.#timeOut)
    client.off('error', this.#fail).off('close', this.#close)
    const unread = Buffer.concat([head, this.#received ?? EMPTY])
    if (unread.byteLength > 0 && !client.readableEnded) client.unshift(unread)
    this.#received = null
    this.#isReleased = true
    this.destroy()
    return client
  }

  /** As of a socket, which the server asks for. */
  setTimeout(timeoutMs: number): this {
    this.client.setTimeout(timeoutMs)
    return this
  }

  /** As of a socket: by default the server would wait for the client to end its side, too. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _read(): void {
    // Pieces come by themselves as long as the server takes them.
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.client.write(chunk, encoding, done)
  }

  override _final(done: Done): void {
    this.client.end(done)
  }

  override _destroy(error: Error | null, done: Done): void {
    if (!this.#isReleased) this.client.destroy()
    done(error)
  }

  readonly #take = (chunk: Buffer): void => {
    this.#received = this.#received === null ? chunk : Buffer.concat([this.#received, chunk])
    this.#goOn()
  }

  readonly #end = (): void => {
    this.#hasEnded = true
    if (this.#received === null) this.push(null)
  }

  readonly #timeOut = (): void => void this.emit('timeout')
  readonly #fail = (error: Error): void => void this.destroy(error)
  readonly #close = (): void => void this.destroy()

  #isAnswering(): boolean {
    return this.response !== null && this.#request?.complete === true
  }

  /** Whether a piece reaches the parser at once. */
  #isTaken(): boolean {
    return this.readableFlowing === true && this.readableLength === 0 && !this.destroyed
  }

  #goOn(): void {
    if (this.#isWaiting) return
    for (let pieces = 0; this.#received !== null; pieces += 1) {
      if (!this.#isTaken()) return void this.client.pause()
      if (this.#isAnswering()) break
      if (pieces > 0 && this.#bodyBytes === 0 && !this.#turns.hasTime()) return this.#wait()
      this.push(
        this.#cut(this.#received, Math.min(FIRST_PIECE_BYTES * 2 ** pieces, MAX_PIECE_BYTES)),
      )
    }
    if (this.destroyed) return
    // While an answer is awaited as well, because the client may hang up.
    if ((this.#received?.byteLength ?? 0) < MAX_WAITING_BYTES) this.client.resume()
    else this.client.pause()
    if (this.#hasEnded && this.#received === null) this.push(null)
  }

  #wait(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.client.pause()
    this.#turns.later(() => {
      this.#isWaiting = false
      this.#goOn()
    })
  }

  #cut(received: Buffer, maxBytes: number): Buffer {
    const length =
      this.#bodyBytes > 0
        ? Math.min(this.#bodyBytes, received.byteLength)
        : findEnd(this.#tail, received.subarray(0, maxBytes))
    const piece = received.subarray(0, length)
    this.#bodyBytes = Math.max(this.#bodyBytes - length, 0)
    this.#received = length === received.byteLength ? null : received.subarray(length)
    this.#tail = Buffer.concat([this.#tail, piece.subarray(1 - END.length)]).subarray(
      1 - END.length,
    )
    return piece
  }
}

/** The position behind the first `END`, which may have begun in `tail`; the length where there is none. */
function findEnd(tail: Buffer, bytes: Buffer): number {
  const seam = Buffer.concat([tail, bytes.subarray(0, END.length - 1)]).indexOf(END)
  if (seam >= 0) return seam + END.length - tail.byteLength
  const start = bytes.indexOf(END)
  return start < 0 ? bytes.byteLength : start + END.length
}

/** Makes `server` read all connections in pieces. Other listeners of `connection` get the clients. */
export function paceConnections(server: Server, turns: LoopTurns = createLoopTurns()): void {
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  // As Node answers where nobody listens; that answer would not be waited for.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    connectionOf(request).begin(request, response)
    response.writeHead(417).end()
  })
  server.on('connection', (client: Socket) => {
    const connection = new PacedConnection(client, turns)
    for (const listener of serve) listener.call(server, connection)
  })
}

/** The connection that a request came by. */
export function connectionOf({ socket }: { readonly socket: Duplex }): PacedConnection {
  if (!(socket instanceof PacedConnection)) throw new TypeError('the connection is not paced')
  return socket
}
