import type { PathMeter } from '../language/find-path.ts'

/** Counts the work of one comparison, so that hostile policies cannot make it endless. */
export interface Meter {
  /** Takes `steps` off what is left; false once nothing is. */
  readonly spend: (steps: number) => boolean
  readonly isSpent: () => boolean
  readonly left: () => number
}

/** What the parts of one comparison may cost. */
export interface Meters {
  /** The answer. It depends on no other budget that grows with `maxSteps`. */
  readonly answer: Meter
  /**
   * Leaving out questions that others include, before the answer: the same for every `maxSteps`.
   */
  readonly prune: Meter
  /** Making the answer short. It never takes from the answer's budget. */
  readonly tidy: Meter
}

/** What a space charges: `meter` for its searches, `tidyMeter` for all that only shortens. */
export interface SpaceMeters {
  readonly meter: Meter
  readonly tidyMeter: Meter
}

/** The meters of the space in which the answer is found. */
export function answerMeters({ answer, prune }: Meters): SpaceMeters {
  return { meter: answer, tidyMeter: prune }
}

/** The meters of the space in which a found answer is made short. */
export function tidyMeters({ tidy }: Meters): SpaceMeters {
  return { meter: tidy, tidyMeter: tidy }
}

/**
 * Steps for leaving out questions. Fixed, so that which questions are asked does not depend on
 * `maxSteps`: with more steps the same search goes further, and a complete answer stays complete.
 */
const PRUNE_STEPS = 100_000

export function createMeters(budget: number): Meters {
  return {
    answer: createMeter(budget),
    prune: createMeter(PRUNE_STEPS),
    tidy: createMeter(Math.ceil(budget / 4)),
  }
}

/** Entries of an index, or items that it answers, that are read in the time of a step. */
const ENTRIES_OF_STEP = 8

/** Charges one look-up in an index that read so many entries, and hands its answer on. */
export function chargeLookUp<T>(meter: Meter, entries: number, answer: readonly T[]): readonly T[] {
  meter.spend(1 + Math.floor((entries + answer.length) / ENTRIES_OF_STEP))
  return answer
}

/** Puts one question about paths, which may take `most` steps, and charges those that it took. */
export function askPaths<T>(meter: Meter, most: number, ask: (steps: PathMeter) => T): T {
  const allowed = Math.max(0, Math.min(most, meter.left()))
  const steps = { left: allowed }
  const answer = ask(steps)
  meter.spend(allowed - steps.left)
  return answer
}

function createMeter(budget: number): Meter {
  let left = budget
  return {
    spend: (steps) => {
      left -= steps
      return left >= 0
    },
    isSpent: () => left < 0,
    left: () => left,
  }
}

/** The outcome of looking for one example; `unknown` when the budget was used up before. */
export type Search<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' }

export const NONE: Search<never> = { kind: 'none' }
export const UNKNOWN: Search<never> = { kind: 'unknown' }

export function found<T>(value: T): Search<T> {
  return { kind: 'found', value }
}

/** The first example that any of the searches finds. `none` only when every one says so. */
export function firstFound<T, U>(items: Iterable<T>, search: (item: T) => Search<U>): Search<U> {
  let isUnknown = false
  for (const item of items) {
    const result = search(item)
    if (result.kind === 'found') return result
    isUnknown ||= result.kind === 'unknown'
  }
  return isUnknown ? UNKNOWN : NONE
}
