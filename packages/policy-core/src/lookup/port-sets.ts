/** How many sets are kept at a time. */
export const MAX_SETS: number = 1 << 13
/** Places that a set may take: those of its row, which its hash chooses. */
const WAYS = 8

/**
 * Keeps sets at one port, so that what was concluded of them is not concluded again. A set takes
 * the place of an older one when its row is full; whoever holds that one may go on with it.
 *
 * No `Map`: policies and requests choose set and port together, and its hashes can be made to
 * collide. Here such sets take each other's place, at most.
 */
export class PortSets<T extends { readonly set: number; readonly port: number }> {
  readonly #kept: (T | undefined)[] = Array.from({ length: MAX_SETS })
  #turn = 0

  find(set: number, port: number): T | undefined {
    const row = rowOf(set, port)
    for (let place = row; place < row + WAYS; place += 1) {
      const kept = this.#kept[place]
      if (kept !== undefined && kept.set === set && kept.port === port) return kept
    }
    return undefined
  }

  /** Keeps a set that is not kept yet, and returns it. */
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
