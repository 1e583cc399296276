import type { ServerResponse } from 'node:http'
import { createAnswerTurns } from '../../operations/overload/answer-turns.ts'

/** A route with a higher `bodyLimit` takes large bodies. */
export const LARGE_BYTES = 1024 * 1024

/** Of all organizations: two of the largest documents. */
const MAX_RUNNING = 2
/** Of each organization. They cost a connection: a body that waits stays with its sender. */
const MAX_WAITING_EACH = 8
const MAX_WAITING = 64
/** Between two looks at the bodies that arrive. */
const WATCH_MS = 1000

/** How slowly a body may arrive while others wait. */
export interface Pace {
  /** From its turn. */
  readonly graceMs: number
  /** On average since its turn. */
  readonly leastBytesPerSecond: number
}

const PACE: Pace = { graceMs: 5_000, leastBytesPerSecond: 1024 * 1024 }

/** An organization has one turn, which its callers share. */
export interface BodyOwner {
  readonly org: string
  readonly caller: string
}

/** A large body whose turn it is. */
export interface LargeBody {
  /** Counts arrived bytes. */
  add(bytes: number): void
  /** Calls `drop` when it arrives too slowly while others wait, unless it has `arrived` before. */
  onDrop(drop: () => void): void
  arrived(): void
  /** Gives the turn to the next: once its handler needs it no more. */
  end(): void
}

/** The large bodies of all requests, of which two are in memory at a time. */
export interface LargeBodies {
  /**
   * Resolves when it is the turn of the body, which ends when `response` closes at the latest. One
   * body of each organization has a turn. Throws 429 when too many wait, as `AnswerTurns` does.
   */
  takeTurn(owner: BodyOwner, response: ServerResponse): Promise<LargeBody>
}

export function createLargeBodies(pace: Pace = PACE): LargeBodies {
  const turns = createAnswerTurns(MAX_WAITING_EACH, MAX_RUNNING, MAX_WAITING)
  let waiting = 0

  function begin(end: () => void): LargeBody {
    const startedMs = performance.now()
    let bytes = 0
    let drop = (): void => undefined
    const watch = setInterval(
      () => {
        const tookMs = performance.now() - startedMs
        const isSlow = bytes < (tookMs / 1000) * pace.leastBytesPerSecond
        if (waiting > 0 && tookMs > pace.graceMs && isSlow) drop()
      },
      Math.min(WATCH_MS, pace.graceMs),
    ).unref()
    return {
      add(more) {
        bytes += more
      },
      onDrop(whenDropped) {
        drop = whenDropped
      },
      arrived: () => clearInterval(watch),
      end() {
        clearInterval(watch)
        end()
      },
    }
  }

  return {
    async takeTurn({ org, caller }, response) {
      const begun = Promise.withResolvers<LargeBody>()
      const ended = Promise.withResolvers<void>()
      const end = (): void => ended.resolve()
      waiting += 1
      turns
        .run(
          org,
          () => {
            const body = begin(end)
            if (response.closed) body.end()
            else response.once('close', body.end)
            begun.resolve(body)
            return ended.promise
          },
          caller,
        )
        .catch(begun.reject)
      try {
        return await begun.promise
      } finally {
        waiting -= 1
      }
    },
  }
}
