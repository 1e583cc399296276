/** How many pairs have a place at a time. */
export const MAX_PAIRS: number = 1 << 13
/** Places that a pair may take: those of its row, which its hash chooses. */
const WAYS = 8
const NO_SET = -1

/**
 * Gives each pair of a set and a port a place, and the place of an older pair when its row is full.
 *
 * No `Map`: policies and requests choose the pairs together, and pairs whose hashes collide made a
 * decision fifty times as slow. Here they take each other's place, at most.
 */
export class PairPlaces {
  readonly #sets = new Int32Array(MAX_PAIRS).fill(NO_SET)
  readonly #ports = new Int32Array(MAX_PAIRS)
  #turn = 0

  /** The place of the pair; -1 when it has none. */
  find(set: number, port: number): number {
    const row = rowOf(set, port)
    for (let place = row; place < row + WAYS; place += 1)
      if (this.#sets[place] === set && this.#ports[place] === port) return place
    return -1
  }

  /** The place for a pair that has none; whoever had it has none now. */
  take(set: number, port: number): number {
    const row = rowOf(set, port)
    const free = this.#sets.subarray(row, row + WAYS).indexOf(NO_SET)
    this.#turn = (this.#turn + 1) % WAYS
    const place = row + (free < 0 ? this.#turn : free)
    this.#sets[place] = set
    this.#ports[place] = port
    return place
  }

  /** The set of the pair that has the place. */
  setOf(place: number): number {
    return this.#sets[place]!
  }

  portOf(place: number): number {
    return this.#ports[place]!
  }
}

function rowOf(set: number, port: number): number {
  const hash = Math.imul(set, 0x9e3779b1) ^ Math.imul(port, 0x85ebca6b)
  return ((hash ^ (hash >>> 15)) & (MAX_PAIRS / WAYS - 1)) * WAYS
}
