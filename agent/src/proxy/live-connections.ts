import type { Decision, Steps } from '@palisade/policy-core'
import type { Socket } from 'node:net'

/** What passes through the proxy now; bounded, and judged again whenever policy changes. */
export interface LiveConnections {
  /** A place for one request or tunnel of that connection; null when all are taken. */
  enter(client: Socket): Place | null
  /** The connections of all places; one may have several. */
  clients(): readonly Socket[]
  /** Closes everything that the policy now in force denies, a step for each; returns how many. */
  rejudge(): Steps<number>
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
  readonly guarded: Guarded | null
}

interface Guarded {
  readonly request: unknown
  readonly close: () => void
}

export function createLiveConnections(
  decide: (request: unknown) => Decision,
  limit: number,
): LiveConnections {
  const places = new Map<Place, Held>()

  const end = (place: Place, guarded: Guarded): void => {
    places.delete(place)
    guarded.close()
  }

  /** Visits connections that are added between steps too. */
  function* rejudge(): Steps<number> {
    let closed = 0
    for (const [place, { guarded }] of places) {
      if (guarded !== null && decide(guarded.request).decision === 'deny') {
        end(place, guarded)
        closed += 1
      }
      yield
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
    rejudge,
    closeAll() {
      for (const [place, { guarded }] of places) if (guarded !== null) end(place, guarded)
    },
    size: () => places.size,
    limit,
  }
}
