import type { Meter } from './meter.ts'
import type { Listed, PatternSpace } from './pattern-space.ts'

/**
 * The items that no other item covers. Of items that cover each other the first stays. `near`
 * returns at least all items that may cover one. Once the budget is used up, all further items are
 * kept unchecked.
 */
export function dropCovered<T>(
  items: readonly T[],
  {
    near,
    covers,
    meter,
  }: {
    readonly near: (item: T) => readonly T[]
    readonly covers: (outer: T, inner: T) => boolean
    readonly meter: Meter
  },
): readonly T[] {
  const indices = new Map(items.map((item, index) => [item, index]))
  return items.filter((item, index) => {
    if (meter.isSpent()) return true
    const others = near(item)
    meter.spend(others.length)
    return !others.some(
      (other) =>
        other !== item &&
        covers(other, item) &&
        ((indices.get(other) ?? 0) < index || !covers(item, other)),
    )
  })
}

/** The denies that no other deny covers. */
export function dropCoveredDenies<P>(
  space: PatternSpace<P>,
  denies: readonly Listed<P>[],
): readonly Listed<P>[] {
  const near = space.indexDenies(denies)
  return dropCovered(denies, {
    near: ({ pattern }) => near({ resource: pattern, within: null }, space.tidyMeter),
    covers: (outer, inner) =>
      space.denies(outer.pattern, { resource: inner.pattern, within: null }),
    meter: space.tidyMeter,
  })
}
