import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { LoopTurns } from './loop-turns.ts'

/** So much of what has come is parsed at a time, at most some hundred chunks or interim answers. */
const PIECE_BYTES = 4_096

const NOTHING = Buffer.alloc(0)

/**
 * The same connection, whose bytes come in pieces within `turns`. node parses 64 KiB in one go, and
 * calls back for each of the thousands of chunks or heads in it. Owns `socket`, which must have no
 * other reader.
 */
export function paceReading(socket: Socket, turns: LoopTurns): Duplex {
  let left = NOTHING
  let isEnded = false
  let isWaiting = false

  const deliver = (): void => {
    isWaiting = false
    while (left.byteLength > 0) {
      if (paced.destroyed) return
      if (!turns.hasTime()) {
        isWaiting = true
        turns.later(deliver)
        return
      }
      const piece = left.subarray(0, PIECE_BYTES)
      left = left.subarray(PIECE_BYTES)
      if (!paced.push(piece)) return
    }
    if (isEnded) paced.push(null)
    else socket.resume()
  }

  const paced: Duplex = new Duplex({
    // Else pieces would be held together, and parsed at once.
    readableHighWaterMark: PIECE_BYTES,
    read() {
      if (!isWaiting) deliver()
    },
    write(chunk: Buffer, _encoding, done) {
      socket.write(chunk, done)
    },
    writev(chunks, done) {
      socket.cork()
      chunks.forEach(({ chunk }, index) => {
        if (index < chunks.length - 1) socket.write(chunk)
        else socket.write(chunk, done)
      })
      socket.uncork()
    },
    final(done) {
      socket.end(done)
    },
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk) => {
    socket.pause()
    left = left.byteLength === 0 ? chunk : Buffer.concat([left, chunk])
    if (!isWaiting) deliver()
  })
  socket.once('end', () => {
    isEnded = true
    if (left.byteLength === 0) paced.push(null)
  })
  socket.on('error', (error) => paced.destroy(error))
  socket.once('close', () => {
    // After its end, some of what has come may be left.
    if (!isEnded) paced.destroy()
  })
  return paced
}
