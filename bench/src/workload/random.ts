/** A seeded random source (mulberry32), so that a run can be repeated exactly. */
export interface Random {
  /** At least 0, below 1. */
  readonly next: () => number
  /** Integer from 0 to `below - 1`. */
  readonly integer: (below: number) => number
  readonly pick: <T>(from: readonly T[]) => T
  /** Picks one of the values with a probability proportional to its weight. */
  readonly weighted: <T>(choices: readonly (readonly [weight: number, value: T])[]) => T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const integer = (below: number): number => Math.floor(next() * below)
  const pick = <T>(from: readonly T[]): T => {
    if (from.length === 0) throw new RangeError('there is no value to pick; give at least one')
    return from[integer(from.length)] as T
  }
  const weighted = <T>(choices: readonly (readonly [number, T])[]): T => {
    let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, value] of choices) {
      left -= weight
      if (left < 0) return value
    }
    return pick(choices)[1]
  }
  return { next, integer, pick, weighted }
}
