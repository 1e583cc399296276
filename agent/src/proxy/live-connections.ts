import type { Decision } from '@palisade/policy-core'

/** What passes through the proxy now; bounded, and judged again whenever policy changes. */
export interface LiveConnections {
  /** A place for one request or tunnel; null when all are taken. */
  enter(): Place | null
  /** Closes everything that the policy now in force denies; returns how many. */
  rejudge(): number
  closeAll(): void
  size(): number
}

export interface Place {
  /** From now on `close` is called when `request` is denied; replaces what was guarded before. */
  guard(request: unknown, close: () => void): void
  /** Idempotent. */
  leave(): void
}

interface Guarded {
  request: unknown
  close: () => void
}

export function createLiveConnections(
  decide: (request: unknown) => Decision,
  limit: number,
): LiveConnections {
  const places = new Map<Place, Guarded | null>()

  const closeWhere = (isOver: (guarded: Guarded) => boolean): number => {
    let closed = 0
    for (const [place, guarded] of places) {
      if (guarded === null || !isOver(guarded)) continue
      places.delete(place)
      guarded.close()
      closed += 1
    }
    return closed
  }

  return {
    enter() {
      if (places.size >= limit) return null
      const place: Place = {
        guard(request, close) {
          places.set(place, { request, close })
        },
        leave() {
          places.delete(place)
        },
      }
      places.set(place, null)
      return place
    },
    rejudge: () => closeWhere(({ request }) => decide(request).decision === 'deny'),
    closeAll() {
      closeWhere(() => true)
    },
    size: () => places.size,
  }
}
