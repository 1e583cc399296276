import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { LoopTurns } from './loop-turns.ts'
import { WireStream, type Done } from './wire-stream.ts'

/** End of a head, and of a chunked body. */
const END = '\r\n\r\n'
const EMPTY = Buffer.alloc(0)

/**
 * Size of the first piece in a turn, with room for most heads; each further piece is twice as long.
 */
const FIRST_PIECE_BYTES = 512
/** Hundreds of one-byte chunks, which take a few milliseconds. */
const MAX_PIECE_BYTES = 4_096

/**
 * A socket as the parser of `node:http` reads it, on the client or the server side.
 *
 * Node parses all bytes of a read in one turn, thousands of heads or chunks, and pausing or
 * destroying the socket does not stop it. So the parser gets pieces that hold the end of at most
 * one head. Pieces after the first share a few milliseconds of each turn with all other sockets,
 * except those of a body of known length.
 */
export class PacedStream extends WireStream {
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
  /** Whether the parser expects the start of a message. */
  #isAtStart = true

  constructor(wire: Socket, turns: LoopTurns) {
    super(wire)
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

  /** Call for each interim answer, after which a further head comes. */
  expectHead(): void {
    this.#isAtStart = true
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

  override _destroy(error: Error | null, done: Done): void {
    if (!this.#isReleased) this.wire.destroy()
    done(error)
  }

  /** Whether the parser has to wait. */
  protected isHeld(): boolean {
    return false
  }

  /**
   * Called with the first bytes of each message, before the parser gets them. Returns them or a
   * replacement; null to wait for more.
   */
  protected mendStart(received: Buffer): Buffer | null {
    return received
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
    this.#goOn()
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
    this.readOn(this.isHeld() ? (this.#received?.byteLength ?? 0) : 0)
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
      if (this.#isAtStart && !this.#begin(this.#received)) return true
      this.push(this.#cut(this.#received, maxBytes))
      this.#lookForEnd()
      isFirst = false
      maxBytes = Math.min(2 * maxBytes, MAX_PIECE_BYTES)
    }
    return true
  }

  /** Returns false while the start of a message is not complete. */
  #begin(received: Buffer): boolean {
    const start = this.mendStart(received) ?? (this.#hasEnded ? received : null)
    if (start === null) return false
    this.#received = start
    this.#isAtStart = false
    return true
  }

  /** Also resets the length, which a message without a body may name. */
  #lookForEnd(): void {
    if (this.#message?.complete !== true) return
    this.#message = null
    this.#bodyBytes = 0
    this.#isAtStart = true
    if (this.#received !== null) this.onSurplus()
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

/** The position after the first `END`, which may begin in `tail`; without one, the length. */
function findEnd(tail: Buffer, bytes: Buffer): number {
  const seam = Buffer.concat([tail, bytes.subarray(0, END.length - 1)]).indexOf(END)
  if (seam >= 0) return seam + END.length - tail.byteLength
  const start = bytes.indexOf(END)
  return start < 0 ? bytes.byteLength : start + END.length
}
