import { Socket } from 'node:net'

type Done = (error?: Error | null) => void
type Write = { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }

/**
 * A connection to a target. A server may answer and close before it has read all bytes; the next
 * write then fails, and Node would discard the answer with it. Here a failed write discards only
 * the bytes of the program, and the connection ends after the last byte of the target was read.
 */
export class TargetSocket extends Socket {
  #isBroken = false

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    if (this.#isBroken) done()
    // oxlint-disable-next-line no-underscore-dangle -- the name that Node gives it
    else super._write(chunk, encoding, this.#survive(done))
  }

  override _writev(writes: Write[], done: Done): void {
    if (this.#isBroken) done()
    // oxlint-disable-next-line no-underscore-dangle -- the name that Node gives it
    else super._writev?.(writes, this.#survive(done))
  }

  #survive(done: Done): Done {
    return (error) => {
      if (error === undefined || error === null || this.readableEnded) return done(error)
      this.#isBroken = true
      this.once('end', () => this.destroy())
      done()
    }
  }
}
