import type { ServerResponse } from 'node:http'
import { createAnswerTurns } from '../overload/answer-turns.ts'

/** A route with a higher `bodyLimit` takes large bodies. */
export const LARGE_BYTES = 1024 * 1024

/** Two of the largest documents; a body takes up to twice its size while it arrives. */
const MAX_HELD_BYTES = 32 * 1024 * 1024
/** Of each caller. They cost a connection: a body that waits stays with its sender. */
const MAX_WAITING_EACH = 8

/** The part of one request in the room for large bodies. */
export interface HeldBody {
  /** False when there is no room for so many bytes more. */
  add(bytes: number): boolean
}

/** The room that the large bodies of all requests share. */
export interface LargeBodies {
  /** Bytes count from their arrival until `response` closes, because its handler parses them. */
  hold(response: ServerResponse): HeldBody
  /**
   * Resolves when no other large body of the caller is being read or handled, so that one caller
   * does not fill the room. Throws 429 when eight wait already.
   */
  takeTurn(caller: string, response: ServerResponse): Promise<void>
}

export function createLargeBodies(maxBytes: number = MAX_HELD_BYTES): LargeBodies {
  const turns = createAnswerTurns(MAX_WAITING_EACH, Infinity, Infinity)
  let total = 0
  return {
    hold(response) {
      let held = 0
      let isOver = false
      response.once('close', () => {
        isOver = true
        total -= held
      })
      return {
        add(bytes) {
          if (isOver || total + bytes > maxBytes) return false
          total += bytes
          held += bytes
          return true
        },
      }
    },
    takeTurn(caller, response) {
      const begun = Promise.withResolvers<void>()
      const ended = new Promise<void>((resolve) => response.once('close', resolve))
      turns
        .run(caller, () => {
          begun.resolve()
          return ended
        })
        .catch(begun.reject)
      return begun.promise
    },
  }
}
