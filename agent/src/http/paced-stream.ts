import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { LoopTurns } from './loop-turns.ts'

/** End of a head, and of a chunked body. */
const END = '\r\n\r\n'
const EMPTY = Buffer.alloc(0)

/** Longest head that is mended, and the time for it. Other heads are left to the parser. */
const MAX_MENDED_BYTES = 131_072
const MEND_TIMEOUT_MS = 8_000
/** Also that of a malformed head, so that it is refused at once. */
const HEAD_END = /\n\r?\n/
const MAX_HEAD_END_BYTES = 3

/**
 * Size of the first piece in a turn, with room for most heads; each further piece is twice as long.
 */
const FIRST_PIECE_BYTES = 512
/** Hundreds of one-byte chunks, which take a few milliseconds. */
const MAX_PIECE_BYTES = 4_096

type Done = (error?: Error | null) => void

interface Write {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

/**
 * A socket as the parser of `node:http` reads it, on the client or the server side.
 *
 * Node parses all bytes of a read in one turn, thousands of heads or chunks, and pausing or
 * destroying the socket does not stop it. So the parser gets pieces that hold the end of at most
 * one head. Pieces after the first share a few milliseconds of each turn with all other sockets,
 * except those of a body of known length.
 */
export class PacedStream extends Duplex {
  protected readonly wire: Socket
  readonly #turns: LoopTurns
  /** Bytes not yet given to the parser; null instead of empty. */
  #received: Buffer | null = null
  #hasEnded = false
  #isReleased = false
  #isWaiting = false
  /** The last bytes given to the parser, where `END` may have begun. */
  #tail: Buffer = EMPTY
  /** The message whose body is being read. */
  #message: IncomingMessage | null = null
  /** Bytes still to come of a body of known length. */
  #bodyBytes = 0
  /** Bytes of a whole head that the parser has not got yet. */
  #headBytes = 0
  /** Bytes of the next head that hold no end of it. */
  #searchedBytes = 0
  /** Runs while a head is incomplete. */
  #headTimer: NodeJS.Timeout | null = null

  constructor(wire: Socket, turns: LoopTurns) {
    super({ allowHalfOpen: true, decodeStrings: false })
    this.wire = wire
    this.#turns = turns
    wire.on('data', this.#take)
    wire.once('end', this.#end)
    wire.on('timeout', this.#timeOut)
    wire.on('error', this.#fail)
    wire.once('close', this.#close)
    // Deferred: the parser may pause again in its own listener.
    this.on('resume', () => process.nextTick(() => this.#goOn()))
  }

  /** Call for each message as soon as its head has arrived. */
  follow(message: IncomingMessage): void {
    this.#message = message
    this.#bodyBytes = Number(message.headers['content-length'] ?? 0)
  }

  /** Detaches the socket from the parser, with `head` and all bytes after it unread. */
  release(head: Buffer = EMPTY): Socket {
    const { wire } = this
    wire.pause()
    wire.off('data', this.#take).off('end', this.#end).off('timeout', this.#timeOut)
    wire.off('error', this.#fail).off('close', this.#close)
    const unread = Buffer.concat([head, this.#received ?? EMPTY])
    if (unread.byteLength > 0 && !wire.readableEnded) wire.unshift(unread)
    this.#received = null
    this.#isReleased = true
    this.destroy()
    return wire
  }

  // Methods of a socket that `node:http` calls.

  get timeout(): number | undefined {
    return this.wire.timeout
  }

  setTimeout(timeoutMs: number): this {
    this.wire.setTimeout(timeoutMs)
    return this
  }

  setKeepAlive(isOn: boolean, delayMs: number): this {
    this.wire.setKeepAlive(isOn, delayMs)
    return this
  }

  ref(): this {
    this.wire.ref()
    return this
  }

  unref(): this {
    this.wire.unref()
    return this
  }

  override _read(): void {
    // Pieces arrive by themselves while the parser takes them.
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.wire.write(chunk, encoding, done)
  }

  /** Writes all chunks at once, as a socket does: a chunk of an answer is three writes. */
  override _writev(writes: readonly Write[], done: Done): void {
    this.wire.cork()
    for (const [at, { chunk, encoding }] of writes.entries())
      this.wire.write(chunk, encoding, at === writes.length - 1 ? done : undefined)
    this.wire.uncork()
  }

  override _final(done: Done): void {
    this.wire.end(done)
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#stopHeadTimer()
    if (!this.#isReleased) this.wire.destroy()
    done(error)
  }

  /** Whether the parser has to wait. */
  protected isHeld(): boolean {
    return false
  }

  /** Whether the head that begins so may go through `mendHead` once it is complete. */
  protected mayMend(_start: Buffer): boolean {
    return false
  }

  /** Replaces a head, with its empty line, before the parser gets it. */
  protected mendHead(head: Buffer): Buffer {
    return head
  }

  /** Called when a message is complete and more bytes follow it. */
  protected onSurplus(): void {}

  /** Continues in a later turn if bytes are left. */
  protected goOnLater(): void {
    if (this.#isWaiting || this.#received === null) return
    this.#isWaiting = true
    this.wire.pause()
    this.#turns.later(() => {
      this.#isWaiting = false
      this.#goOn()
    })
  }

  /** Called when the parser has all bytes that it may get now; `held` counts the remaining ones. */
  protected readOn(_held: number): void {
    this.wire.resume()
  }

  readonly #take = (chunk: Buffer): void => {
    this.#received = this.#received === null ? chunk : Buffer.concat([this.#received, chunk])
    this.#goOn()
  }

  readonly #end = (): void => {
    this.#hasEnded = true
    if (this.#received === null) this.push(null)
    else if (this.#headTimer !== null) this.#goOn()
  }

  readonly #timeOut = (): void => void this.emit('timeout')
  readonly #fail = (error: Error): void => void this.destroy(error)
  readonly #close = (): void => void this.destroy()

  /** Whether the parser takes a piece at once. */
  #isTaken(): boolean {
    return this.readableFlowing === true && this.readableLength === 0 && !this.destroyed
  }

  #goOn(): void {
    if (this.#isWaiting || !this.#handOver() || this.destroyed) return
    this.readOn(this.#headTimer === null ? (this.#received?.byteLength ?? 0) : 0)
    if (this.#hasEnded && this.#received === null) this.push(null)
  }

  /** Returns whether the parser has taken all pieces of this turn, so that more may be read. */
  #handOver(): boolean {
    let maxBytes = FIRST_PIECE_BYTES
    let isFirst = true
    while (this.#received !== null && !this.isHeld()) {
      if (!this.#isTaken()) {
        this.wire.pause()
        return false
      }
      if (!isFirst && this.#bodyBytes === 0 && !this.#turns.hasTime()) {
        this.goOnLater()
        return false
      }
      if (this.#message === null && this.#headBytes === 0 && !this.#mend()) return true
      this.push(this.#cut(this.#received, maxBytes))
      this.#lookForEnd()
      isFirst = false
      maxBytes = Math.min(2 * maxBytes, MAX_PIECE_BYTES)
    }
    return true
  }

  /** Mends the next head. Returns false while it is not complete. */
  #mend(): boolean {
    const received = this.#received ?? EMPTY
    const length = this.#findHeadLength(received)
    if (length === null) {
      this.#headTimer ??= setTimeout(() => {
        this.#headTimer = null
        this.#headBytes = this.#received?.byteLength ?? 0
        this.#goOn()
      }, MEND_TIMEOUT_MS).unref()
      return false
    }
    this.#stopHeadTimer()
    this.#searchedBytes = 0
    if (length === 0) return true
    const written = received.subarray(0, length)
    const head = this.mendHead(written)
    this.#headBytes = head.byteLength
    if (head !== written) this.#received = Buffer.concat([head, received.subarray(length)])
    return true
  }

  /** 0 for a head that is left to the parser; null while it is not complete. */
  #findHeadLength(received: Buffer): number | null {
    const isOver = this.#hasEnded || received.byteLength > MAX_MENDED_BYTES
    if (isOver || !this.mayMend(received)) return 0
    const from = Math.max(this.#searchedBytes - MAX_HEAD_END_BYTES, 0)
    const end = HEAD_END.exec(received.toString('latin1', from))
    this.#searchedBytes = received.byteLength
    return end === null ? null : from + end.index + end[0].length
  }

  #stopHeadTimer(): void {
    if (this.#headTimer !== null) clearTimeout(this.#headTimer)
    this.#headTimer = null
  }

  /** Also resets the length, which a message without a body may name. */
  #lookForEnd(): void {
    if (this.#message?.complete !== true) return
    this.#message = null
    this.#bodyBytes = 0
    if (this.#received !== null) this.onSurplus()
  }

  #cut(received: Buffer, maxBytes: number): Buffer {
    const known = this.#bodyBytes > 0 ? this.#bodyBytes : this.#headBytes
    const length =
      known > 0
        ? Math.min(known, received.byteLength)
        : findEnd(this.#tail, received.subarray(0, maxBytes))
    const piece = received.subarray(0, length)
    this.#bodyBytes = Math.max(this.#bodyBytes - length, 0)
    this.#headBytes = Math.max(this.#headBytes - length, 0)
    this.#received = length === received.byteLength ? null : received.subarray(length)
    this.#tail = Buffer.concat([this.#tail, piece.subarray(1 - END.length)]).subarray(
      1 - END.length,
    )
    return piece
  }
}

/** The position after the first `END`, which may begin in `tail`; without one, the length. */
function findEnd(tail: Buffer, bytes: Buffer): number {
  const seam = Buffer.concat([tail, bytes.subarray(0, END.length - 1)]).indexOf(END)
  if (seam >= 0) return seam + END.length - tail.byteLength
  const start = bytes.indexOf(END)
  return start < 0 ? bytes.byteLength : start + END.length
}
