import type { Sighting } from '../observed/read-observed.ts'

/** The last record of a kind. */
export interface ReplayExample {
  readonly device_id: string
  readonly username: string | null
  /** Its key in the evidence: the tuples of all records would take too much memory. */
  readonly tuple: number
  /** Epoch milliseconds. */
  readonly last_ms: number
}

/** How often, by whom and when requests of a kind were recorded. */
export interface ReplayCount {
  readonly decisions: number
  readonly users: number
  readonly devices: number
  /** Epoch milliseconds; null without a record. */
  readonly first_ms: number | null
  readonly last_ms: number | null
  readonly example: ReplayExample | null
}

export interface ReplayTally {
  add(tuple: number, sighting: Sighting): void
  count(): ReplayCount
}

/** Names are shared with the sightings, so that a set costs about 50 bytes for each. */
export function createReplayTally(): ReplayTally {
  const users = new Set<string>()
  const devices = new Set<string>()
  let decisions = 0
  let firstMs = Infinity
  let example: ReplayExample | null = null
  return {
    add(tuple, { device_id, username, decisions: added, first_ms, last_ms }) {
      decisions += added
      devices.add(device_id)
      if (username !== null) users.add(username)
      if (first_ms < firstMs) firstMs = first_ms
      if (example === null || last_ms > example.last_ms)
        example = { device_id, username, tuple, last_ms }
    },
    count: () => ({
      decisions,
      users: users.size,
      devices: devices.size,
      first_ms: example === null ? null : firstMs,
      last_ms: example?.last_ms ?? null,
      example,
    }),
  }
}
