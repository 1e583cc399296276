/** Counts the work of one comparison, so that hostile policies cannot make it endless. */
export interface Meter {
  /** Takes `steps` off what is left; false once nothing is. */
  readonly spend: (steps: number) => boolean
  readonly isSpent: () => boolean
}

/** The budget of the answer, and that of making it short. */
export interface Meters {
  readonly meter: Meter
  readonly tidyMeter: Meter
}

export function createMeters(budget: number): Meters {
  return { meter: createMeter(budget), tidyMeter: createMeter(budget) }
}

function createMeter(budget: number): Meter {
  let left = budget
  return {
    spend: (steps) => {
      left -= steps
      return left >= 0
    },
    isSpent: () => left < 0,
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
