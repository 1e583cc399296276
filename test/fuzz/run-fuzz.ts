import { drawCase, type FuzzCase } from './draw-case.ts'
import type { Evaluator } from './evaluator.ts'
import { findDifference, prepare, type Asked, type Difference } from './find-difference.ts'
import { shrinkList, shrinkSet } from './shrink.ts'
import { SIZE_CLASSES, type SizeClass } from './size-class.ts'

export interface FuzzOptions {
  /** Seed of the first set. Each later set adds one. */
  readonly seed: number
  readonly forMs: number
  /** The time for shrinking a difference. */
  readonly shrinkMs: number
  /** Milliseconds on any monotonic clock. */
  readonly now: () => number
  /** Called after every set. */
  readonly onProgress: (tally: Tally) => void
}

/** The comparisons so far. */
export interface Tally {
  /** Number of pairs of a policy set and a request that both evaluators answered. */
  readonly cases: number
  readonly sets: number
  readonly elapsedMs: number
  readonly byClass: ReadonlyMap<SizeClass, { readonly sets: number; readonly resources: number }>
}

/** A difference, its case, and the smallest set that still shows a difference. */
export interface Found {
  readonly case: FuzzCase
  readonly set: FuzzCase['set']
  /** Requests that must come first, because an index may build state while it answers. */
  readonly earlier: readonly unknown[]
  readonly difference: Difference
}

/** Compares until the time is up or an answer differs. Stops within the current set. */
export function runFuzz(
  evaluator: Evaluator,
  { seed, forMs, shrinkMs, now, onProgress }: FuzzOptions,
): { readonly tally: Tally; readonly found: Found | null } {
  const start = now()
  const byClass = new Map(SIZE_CLASSES.map((each) => [each, { sets: 0, resources: 0 }]))
  let cases = 0
  let sets = 0
  const tally = (): Tally => ({ cases, sets, elapsedMs: now() - start, byClass })
  for (let next = seed; now() - start < forMs; next += 1) {
    const each = drawCase(next)
    const held = byClass.get(each.sizeClass)
    if (held !== undefined) {
      held.sets += 1
      held.resources += each.resources
    }
    sets += 1
    const difference = firstDifference(evaluator, each, () => {
      if (now() - start >= forMs) return false
      cases += 1
      return true
    })
    if (difference !== null) {
      const end = now() + shrinkMs
      const found = shrink(evaluator, each, difference, () => now() < end)
      return { tally: tally(), found }
    }
    onProgress(tally())
  }
  return { tally: tally(), found: null }
}

/** Asks the requests in order while `goesOn` returns true. */
function firstDifference(
  evaluator: Evaluator,
  { set, options, asked }: FuzzCase,
  goesOn: () => boolean,
): Difference | null {
  const prepared = prepare(evaluator, set, options)
  if (prepared === null || 'call' in prepared) return prepared
  for (const one of asked) {
    if (!goesOn()) return null
    const difference = findDifference(prepared, one)
    if (difference !== null) return difference
  }
  return null
}

/**
 * Shrinks the set with the last request alone if that shows the difference; otherwise with all
 * requests so far, and then shrinks these.
 */
function shrink(
  evaluator: Evaluator,
  each: FuzzCase,
  difference: Difference,
  hasTime: () => boolean,
): Found {
  const differenceOf = (set: FuzzCase['set'], asked: readonly Asked[]): Difference | null =>
    firstDifference(evaluator, { ...each, set, asked }, () => true)
  const last = each.asked.findIndex(({ request }) => request === difference.request)
  const lastAsked = each.asked.slice(last, last + 1)
  const isAlone = differenceOf(each.set, lastAsked) !== null
  let asked: readonly Asked[] = isAlone ? lastAsked : each.asked.slice(0, last + 1)
  const set = shrinkSet(each.set, (fewer) => differenceOf(fewer, asked) !== null, hasTime)
  if (!isAlone) asked = shrinkList(asked, (fewer) => differenceOf(set, fewer) !== null, hasTime)
  return {
    case: each,
    set,
    earlier: asked.slice(0, -1).map(({ request }) => request),
    difference: differenceOf(set, asked) ?? difference,
  }
}
