import { drawCase, type FuzzCase } from './draw-case.ts'
import type { Evaluator } from './evaluator.ts'
import { findDifference, prepare, type Asked, type Difference } from './find-difference.ts'
import { shrinkList, shrinkSet } from './shrink.ts'
import { SIZE_CLASSES, type SizeClass } from './size-class.ts'

export interface FuzzOptions {
  /** The first set's; the next set has the next one. */
  readonly seed: number
  readonly forMs: number
  /** How long a difference may be made smaller. */
  readonly shrinkMs: number
  /** Milliseconds on any clock that only goes forward. */
  readonly now: () => number
  /** Called after every set. */
  readonly onProgress: (tally: Tally) => void
}

/** What was compared so far. */
export interface Tally {
  /** One policy set with one request, put to both. */
  readonly cases: number
  readonly sets: number
  readonly elapsedMs: number
  readonly byClass: ReadonlyMap<SizeClass, { readonly sets: number; readonly resources: number }>
}

/** A difference, the case that it was found in, and the smallest set that still shows one. */
export interface Found {
  readonly case: FuzzCase
  readonly set: FuzzCase['set']
  /** What must be asked before the request differs: what an index builds while it is asked. */
  readonly earlier: readonly unknown[]
  readonly difference: Difference
}

/** Compares until time is over or an answer differs. The set at hand is not finished then. */
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

/** Asks one request after the other for as long as `goesOn`. */
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

/** First without all that was asked earlier, then, where that shows nothing, with as little. */
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
