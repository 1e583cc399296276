import type { PathMeter } from '@palisade/policy-core/internal'

/** Limits the work of one comparison, so that hostile policies cannot make it endless. */
export interface Meter {
  /** Subtracts `steps` from the budget; false once it is used up. */
  readonly spend: (steps: number) => boolean
  readonly isSpent: () => boolean
  readonly left: () => number
}

/** Budgets for the parts of one comparison. */
export interface Meters {
  /** For the answer, which depends on no other budget that grows with `maxSteps`. */
  readonly answer: Meter
  /**
   * For dropping questions that others include, before the answer. Independent of `maxSteps`.
   */
  readonly prune: Meter
  /** For shortening the answer. It never reduces the budget of the answer. */
  readonly tidy: Meter
}

/** Meters of a space: `meter` for searches, `tidyMeter` for shortening the answer. */
export interface SpaceMeters {
  readonly meter: Meter
  readonly tidyMeter: Meter
}

/** The meters for the space that finds the answer. */
export function answerMeters({ answer, prune }: Meters): SpaceMeters {
  return { meter: answer, tidyMeter: prune }
}

/** The meters for the space that shortens the answer. */
export function tidyMeters({ tidy }: Meters): SpaceMeters {
  return { meter: tidy, tidyMeter: tidy }
}

/**
 * Steps for dropping questions. The number is fixed so that the set of questions does not depend on
 * `maxSteps`. With more steps the same search goes further, so a complete answer stays complete.
 */
const PRUNE_STEPS = 100_000

export function createMeters(budget: number): Meters {
  return {
    answer: createMeter(budget),
    prune: createMeter(PRUNE_STEPS),
    tidy: createMeter(Math.ceil(budget / 4)),
  }
}

/** Number of index entries, or of results, that cost one step. */
const ENTRIES_OF_STEP = 8

/** Charges a look-up that read `entries` entries of an index, and returns its answer. */
export function chargeLookUp<T>(meter: Meter, entries: number, answer: readonly T[]): readonly T[] {
  meter.spend(1 + Math.floor((entries + answer.length) / ENTRIES_OF_STEP))
  return answer
}

/** Asks one question about paths, limited to `most` steps, and charges the steps it took. */
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

/** Result of the search for one example; `unknown` when the budget was used up. */
export type SearchResult<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' }

export const NONE: SearchResult<never> = { kind: 'none' }
export const UNKNOWN: SearchResult<never> = { kind: 'unknown' }

export function found<T>(value: T): SearchResult<T> {
  return { kind: 'found', value }
}

/** The first example that a search finds; `none` only when every search ends without one. */
export function firstFound<T, U>(
  items: Iterable<T>,
  search: (item: T) => SearchResult<U>,
): SearchResult<U> {
  let isUnknown = false
  for (const item of items) {
    const result = search(item)
    if (result.kind === 'found') return result
    isUnknown ||= result.kind === 'unknown'
  }
  return isUnknown ? UNKNOWN : NONE
}
