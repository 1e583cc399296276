import type { Decision } from '@palisade/policy-core'
import type { Socket } from 'node:net'

/** What passes through the proxy now; bounded, and judged again whenever policy changes. */
export interface LiveConnections {
  /** A place for one request or tunnel of that connection; null when all are taken. */
  enter(client: Socket): Place | null
  /** The connections of all places; one may have several. */
  clients(): readonly Socket[]
  /** Closes everything that the policy now in force denies; returns how many. */
  rejudge(): number
  closeAll(): void
  size(): number
  /** The number of places. */
  readonly limit: number
}

export interface Place {
  /** From now on `close` is called when `request` is denied; replaces what was guarded before. */
  guard(request: unknown, close: () => void): void
  /** Idempotent. */
  leave(): void
}

interface Held {
  readonly client: Socket
  /** Null until something is guarded. */
  readonly guarded: { readonly request: unknown; readonly close: () => void } | null
}

export function createLiveConnections(
  decide: (request: unknown) => Decision,
  limit: number,
): LiveConnections {
  const places = new Map<Place, Held>()

  const closeWhere = (isOver: (request: unknown) => boolean): number => {
    let closed = 0
    for (const [place, { guarded }] of places) {
      if (guarded === null || !isOver(guarded.request)) continue
      places.delete(place)
      guarded.close()
      closed += 1
    }
    return closed
  }

  return {
    enter(client) {
      if (places.size >= limit) return null
      const place: Place = {
        guard(request, close) {
          places.set(place, { client, guarded: { request, close } })
        },
        leave() {
          places.delete(place)
        },
      }
      places.set(place, { client, guarded: null })
      return place
    },
    clients: () => [...places.values()].map(({ client }) => client),
    rejudge: () => closeWhere((request) => decide(request).decision === 'deny'),
    closeAll() {
      closeWhere(() => true)
    },
    size: () => places.size,
    limit,
  }
}
