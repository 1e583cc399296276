import type { ServerResponse } from 'node:http'
import { createAnswerTurns } from '../../operations/overload/answer-turns.ts'

/** Routes with a higher `bodyLimit` accept large bodies. */
export const LARGE_BYTES = 1024 * 1024

/** Bodies of all organizations in memory: two of the largest documents. */
const MAX_RUNNING = 2
/** Waiting bodies of one organization. Each costs a connection only: its bytes are not read yet. */
const MAX_WAITING_EACH = 8
const MAX_WAITING = 64
/** Interval between two checks of the pace. */
const WATCH_MS = 1000

/** The slowest pace of a body while others wait. */
export interface Pace {
  /** Time from the start of its turn without a check. */
  readonly graceMs: number
  /** Average since the start of its turn. */
  readonly leastBytesPerSecond: number
}

const PACE: Pace = { graceMs: 5_000, leastBytesPerSecond: 1024 * 1024 }

/** The sender of a body. An organization has one turn at a time, which its callers share. */
export interface BodyOwner {
  readonly org: string
  readonly caller: string
}

/** The turn of a large body. */
export interface LargeBody {
  /** Counts received bytes. */
  add(bytes: number): void
  /** Calls `drop` when the body arrives too slowly while others wait; no longer after `arrived`. */
  onDrop(drop: () => void): void
  arrived(): void
  /** Passes the turn on; called once the handler no longer needs the body. */
  end(): void
}

/** Admits the large bodies of all requests, two at a time. */
export interface LargeBodies {
  /**
   * Resolves at the turn of the body. The turn ends at the latest when `response` closes. Each
   * organization has one turn at a time. Throws 429 when too many wait, as `AnswerTurns` does.
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
