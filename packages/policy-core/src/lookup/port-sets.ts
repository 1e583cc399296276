/** Maximum number of kept sets. */
export const MAX_SETS: number = 1 << 13
/** Number of slots in a row. The hash of a set chooses its row. */
const WAYS = 8

/**
 * Keeps sets at one port, so that their verdicts are computed once. A set replaces an older one
 * when its row is full; a replaced set stays valid for its holders.
 *
 * This is no `Map`, because policies and requests choose set and port and could make the hashes of
 * a `Map` collide. Here colliding sets only replace each other.
 */
export class PortSets<T extends { readonly set: number; readonly port: number }> {
  readonly #kept: (T | undefined)[] = Array.from({ length: MAX_SETS })
  #turn = 0

  find(set: number, port: number): T | undefined {
    const row = rowOf(set, port)
    for (let slot = row; slot < row + WAYS; slot += 1) {
      const kept = this.#kept[slot]
      if (kept !== undefined && kept.set === set && kept.port === port) return kept
    }
    return undefined
  }

  /** Keeps a new set and returns it. */
  keep(created: T): T {
    const row = rowOf(created.set, created.port)
    const free = this.#kept.slice(row, row + WAYS).indexOf(undefined)
    this.#turn = (this.#turn + 1) % WAYS
    this.#kept[row + (free < 0 ? this.#turn : free)] = created
    return created
  }
}

function rowOf(set: number, port: number): number {
  const hash = Math.imul(set, 0x9e3779b1) ^ Math.imul(port, 0x85ebca6b)
  return ((hash ^ (hash >>> 15)) & (MAX_SETS / WAYS - 1)) * WAYS
}
