import type { ServerResponse } from 'node:http'

/** A route with a higher `bodyLimit` takes large bodies. */
export const LARGE_BYTES = 1024 * 1024

/** Two of the largest documents; a body takes up to twice its size while it arrives. */
const MAX_HELD_BYTES = 32 * 1024 * 1024

/** What one request has of the room for large bodies. */
export interface HeldBody {
  /** False when there is no room for so many bytes more. */
  add(bytes: number): boolean
}

/** The room that the large bodies of all requests share. */
export interface LargeBodies {
  /** Bytes count from their arrival until `response` closes, because its handler parses them. */
  hold(response: ServerResponse): HeldBody
}

export function createLargeBodies(maxBytes: number = MAX_HELD_BYTES): LargeBodies {
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
  }
}
