import type { Decision, Steps } from '@palisade/policy-core'
import type { Socket } from 'node:net'

/** Requests and tunnels in progress; bounded, and decided again after each policy change. */
export interface LiveConnections {
  /** A slot for one request or tunnel of that connection; null when all are taken. */
  enter(client: Socket): Place | null
  /** The connection of each slot; a connection may hold several. */
  clients(): readonly Socket[]
  /** Closes all connections that the policy in force denies, one a step; returns their number. */
  rejudge(): Steps<number>
  closeAll(): void
  size(): number
  /** The number of slots. */
  readonly limit: number
}

export interface Place {
  /** Calls `close` when `request` is denied from now on; replaces an earlier guard. */
  guard(request: unknown, close: () => void): void
  /** Idempotent. */
  leave(): void
}

interface Held {
  readonly client: Socket
  /** Null until a request is guarded. */
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

  /** Also visits connections that are added between steps. */
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
