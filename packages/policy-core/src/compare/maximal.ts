import type { Meter } from './meter.ts'
import type { Listed, Space } from './space.ts'

/**
 * The items that no other item covers. Of items that cover each other the first stays. `near`
 * returns at least all items that may cover one. Once the budget is used up, all further items are
 * kept unchecked.
 */
export function maximal<T>(
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
  const places = new Map(items.map((item, place) => [item, place]))
  return items.filter((item, place) => {
    if (meter.isSpent()) return true
    const others = near(item)
    meter.spend(others.length)
    return !others.some(
      (other) =>
        other !== item &&
        covers(other, item) &&
        ((places.get(other) ?? 0) < place || !covers(item, other)),
    )
  })
}

/** The denies that no other deny covers. */
export function maximalDenies<P>(
  space: Space<P>,
  denies: readonly Listed<P>[],
): readonly Listed<P>[] {
  const near = space.indexDenies(denies)
  return maximal(denies, {
    near: ({ pattern }) => near({ resource: pattern, within: null }, space.tidyMeter),
    covers: (outer, inner) =>
      space.denies(outer.pattern, { resource: inner.pattern, within: null }),
    meter: space.tidyMeter,
  })
}
