import type { Steps } from '@palisade/policy-core'
import type { Socket } from 'node:net'
import type { Holder } from '../../grants/access/once-grants.ts'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'

/** Requests and tunnels in progress; bounded, and decided again after each policy change. */
export interface LiveConnections {
  /**
   * A slot for one request or tunnel of that connection, or for datagrams without a connection.
   * Null when all are taken.
   */
  enter(client: Socket | null): Slot | null
  /** The connection of each slot that has one; a connection may hold several. */
  clients(): Iterable<Socket>
  /** Closes all connections that the policy in force denies, one a step; returns their number. */
  recheck(): Steps<number>
  closeAll(): void
  size(): number
  /** The number of slots. */
  readonly limit: number
}

/** It keeps the grants that its request or tunnel has spent. */
export interface Slot extends Holder {
  /**
   * Calls `close` with the denial when `request`, or `further` beside it, is denied from now on;
   * with null when the proxy stops. Replaces an earlier guard.
   */
  guard(request: unknown, close: Close, further?: unknown): void
  /** Idempotent. */
  leave(): void
}

type Close = (denial: MachineDecision | null) => void

interface Entry {
  readonly client: Socket | null
  /** Null until a request is guarded. */
  readonly guarded: Guarded | null
}

interface Guarded {
  readonly requests: readonly unknown[]
  readonly close: Close
}

export function createLiveConnections(
  decide: (request: unknown, slot: Slot) => MachineDecision,
  limit: number,
): LiveConnections {
  const slots = new Map<Slot, Entry>()

  const end = (slot: Slot, guarded: Guarded, denial: MachineDecision | null): void => {
    slots.delete(slot)
    guarded.close(denial)
  }

  const findDenial = (slot: Slot, { requests }: Guarded): MachineDecision | null => {
    for (const request of requests) {
      const decision = decide(request, slot)
      if (decision.decision === 'deny') return decision
    }
    return null
  }

  /** Also visits connections that are added between steps. */
  function* recheck(): Steps<number> {
    let closed = 0
    for (const [slot, { guarded }] of slots) {
      const denial = guarded === null ? null : findDenial(slot, guarded)
      if (guarded !== null && denial !== null) {
        end(slot, guarded, denial)
        closed += 1
      }
      yield
    }
    return closed
  }

  return {
    enter(client) {
      if (slots.size >= limit) return null
      const held = new Set<string>()
      const slot: Slot = {
        held,
        hold: (grant) => void held.add(grant),
        guard(request, close, further) {
          const requests = further === undefined ? [request] : [request, further]
          slots.set(slot, { client, guarded: { requests, close } })
        },
        leave() {
          slots.delete(slot)
        },
      }
      slots.set(slot, { client, guarded: null })
      return slot
    },
    *clients() {
      for (const { client } of slots.values()) if (client !== null) yield client
    },
    recheck,
    closeAll() {
      for (const [slot, { guarded }] of slots) if (guarded !== null) end(slot, guarded, null)
    },
    size: () => slots.size,
    limit,
  }
}
