import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

export type Done = (error?: Error | null) => void

interface Write {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

/** A stream that writes to a socket, and has the methods of a socket that `node:http` calls. */
export class WireStream extends Duplex {
  protected readonly wire: Socket

  constructor(wire: Socket) {
    super({ allowHalfOpen: true, decodeStrings: false })
    this.wire = wire
  }

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
}
