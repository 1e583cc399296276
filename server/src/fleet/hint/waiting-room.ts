/** Identifies a waiter of a room. */
export interface WaiterKey {
  readonly org: string
  readonly deviceId: string
}

/** Waiters by organization and device: one of each. */
export interface WaitingRoom<W extends WaiterKey> {
  find(key: WaiterKey): W | undefined
  /** The former waiter of that key must have left. */
  enter(waiter: W): void
  /** False when it has left before, or another one has replaced it. */
  leave(waiter: W): boolean
  size(): number
  sizeOf(org: string): number
  all(): Iterable<W>
  orgs(): Iterable<[org: string, waiters: Iterable<W>]>
}

export function createWaitingRoom<W extends WaiterKey>(): WaitingRoom<W> {
  const byOrg = new Map<string, Map<string, W>>()
  let size = 0

  return {
    find: ({ org, deviceId }) => byOrg.get(org)?.get(deviceId),

    enter(waiter) {
      const waiters = byOrg.get(waiter.org) ?? new Map<string, W>()
      byOrg.set(waiter.org, waiters.set(waiter.deviceId, waiter))
      size += 1
    },

    leave(waiter) {
      const waiters = byOrg.get(waiter.org)
      if (waiters?.get(waiter.deviceId) !== waiter) return false
      waiters.delete(waiter.deviceId)
      if (waiters.size === 0) byOrg.delete(waiter.org)
      size -= 1
      return true
    },

    size: () => size,
    sizeOf: (org) => byOrg.get(org)?.size ?? 0,
    *all() {
      for (const waiters of byOrg.values()) yield* waiters.values()
    },
    *orgs() {
      for (const [org, waiters] of byOrg) yield [org, waiters.values()]
    },
  }
}
