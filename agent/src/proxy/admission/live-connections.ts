import type { Decision, Steps } from '@palisade/policy-core'
import type { Socket } from 'node:net'

/** Requests and tunnels in progress; bounded, and decided again after each policy change. */
export interface LiveConnections {
  /** A slot for one request or tunnel of that connection; null when all are taken. */
  enter(client: Socket): Slot | null
  /** The connection of each slot; a connection may hold several. */
  clients(): readonly Socket[]
  /** Closes all connections that the policy in force denies, one a step; returns their number. */
  recheck(): Steps<number>
  closeAll(): void
  size(): number
  /** The number of slots. */
  readonly limit: number
}

export interface Slot {
  /** Calls `close` when `request` is denied from now on; replaces an earlier guard. */
  guard(request: unknown, close: () => void): void
  /** Idempotent. */
  leave(): void
}

interface Entry {
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
  const slots = new Map<Slot, Entry>()

  const end = (slot: Slot, guarded: Guarded): void => {
    slots.delete(slot)
    guarded.close()
  }

  /** Also visits connections that are added between steps. */
  function* recheck(): Steps<number> {
    let closed = 0
    for (const [slot, { guarded }] of slots) {
      if (guarded !== null && decide(guarded.request).decision === 'deny') {
        end(slot, guarded)
        closed += 1
      }
      yield
    }
    return closed
  }

  return {
    enter(client) {
      if (slots.size >= limit) return null
      const slot: Slot = {
        guard(request, close) {
          slots.set(slot, { client, guarded: { request, close } })
        },
        leave() {
          slots.delete(slot)
        },
      }
      slots.set(slot, { client, guarded: null })
      return slot
    },
    clients: () => [...slots.values()].map(({ client }) => client),
    recheck,
    closeAll() {
      for (const [slot, { guarded }] of slots) if (guarded !== null) end(slot, guarded)
    },
    size: () => slots.size,
    limit,
  }
}
