import type { CanonicalRequest } from '../decision/decision.ts'
import { maximal, maximalDenies } from './maximal.ts'
import type { Listed, Region, Space } from './space.ts'
import { questionOf, testSuspect, type Crowd, type Indices, type Suspect } from './suspects.ts'

/**
 * Maximum number of exceptions of one change that are compared with each other, in order to remove
 * redundant ones.
 */
const MAX_BRIEF = 1000

/** A suspect that is confirmed by an example. */
export interface Proven<P> extends Suspect<P> {
  readonly example: CanonicalRequest
}

export interface ProvenCrowd<P> extends Crowd<P> {
  readonly example: CanonicalRequest
}

export interface FoundChanges<P> {
  readonly crowds: readonly ProvenCrowd<P>[]
  readonly proven: readonly Proven<P>[]
  /** Regions that were not decided within the budget. */
  readonly undecided: readonly Region<P>[]
}

/**
 * Decides every suspect in `space` and keeps the fewest and largest regions that describe all
 * changes. The reduction runs in `tidySpace`, which has a budget of its own.
 */
export function findChanges<P>(
  {
    space,
    tidySpace,
    indices,
  }: {
    readonly space: Space<P>
    readonly tidySpace: Space<P>
    readonly indices: Indices<P>
  },
  suspects: Iterable<Suspect<P> | Crowd<P>>,
): FoundChanges<P> {
  const proven: Proven<P>[] = []
  const crowds: ProvenCrowd<P>[] = []
  const undecided: Region<P>[] = []
  for (const suspect of suspects) {
    const result = testSuspect(space, suspect)
    if (result.kind === 'unknown') undecided.push(suspect.region)
    if (result.kind !== 'found') continue
    if ('parts' in suspect) {
      crowds.push({ ...suspect, example: result.value })
      continue
    }
    const allowed = unchangedAllows(tidySpace, indices, suspect)
    proven.push(tightened(tidySpace, indices, { ...suspect, allowed, example: result.value }))
  }
  const others = largest(tidySpace, withoutCrowds(tidySpace, proven, crowds))
  return { crowds, proven: others.map((change) => brief(tidySpace, change)), undecided }
}

/** The allows of `from` except those that removed denies had closed entirely. */
function unchangedAllows<P>(
  space: Space<P>,
  { goneDenies, toDenies }: Indices<P>,
  { region, allowed }: Suspect<P>,
): readonly Listed<P>[] {
  return allowed.filter(({ pattern }) => {
    const part = space.overlap(region.resource, pattern)
    if (part === null) return false
    if (!space.tidyMeter.spend(1)) return true
    const closed = goneDenies(part, space.tidyMeter)
    if (closed.length === 0) return true
    const denied = [...closed, ...toDenies(part, space.tidyMeter)]
    const question = questionOf({ region: part, denied, allowed: [], causes: [] })
    return space.find(question).kind !== 'none'
  })
}

function tightened<P>(space: Space<P>, { toDenies }: Indices<P>, change: Proven<P>): Proven<P> {
  const region = space.tighten(questionOf(change))
  if (region.resource === change.region.resource) return change
  const near = new Set(toDenies(region, space.tidyMeter))
  return {
    ...change,
    region,
    denied: change.denied.filter((deny) => near.has(deny)),
    allowed: change.allowed.filter(
      ({ pattern }) => space.overlap(region.resource, pattern) !== null,
    ),
  }
}

/** Drops the changes inside a removed deny that is reported as a whole. */
function withoutCrowds<P>(
  space: Space<P>,
  changes: readonly Proven<P>[],
  crowds: readonly ProvenCrowd<P>[],
): readonly Proven<P>[] {
  const near = space.indexDenies(crowds.map(({ region }) => ({ pattern: region.resource })))
  return changes.filter(
    ({ region }) =>
      space.tidyMeter.isSpent() ||
      !near(region, space.tidyMeter).some(({ pattern }) => space.denies(pattern, region)),
  )
}

/** Drops the changes that another one covers. */
function largest<P>(space: Space<P>, changes: readonly Proven<P>[]): readonly Proven<P>[] {
  const whole = changes.flatMap((change) =>
    change.region.within === null ? [{ change, pattern: change.region.resource }] : [],
  )
  const parts = changes.flatMap((change) =>
    change.region.within === null ? [] : [{ change, pattern: change.region.within }],
  )
  const nearWhole = space.indexAllows(whole)
  const nearParts = space.indexDenies(parts)
  return maximal(changes, {
    near: ({ region }) => {
      const smallest = { resource: region.within ?? region.resource, within: null }
      const { tidyMeter } = space
      const others = [...nearWhole(region, tidyMeter), ...nearParts(smallest, tidyMeter)]
      return others.map(({ change }) => change)
    },
    covers: (outer, inner) => covers(space, outer, inner),
    meter: space.tidyMeter,
  })
}

function covers<P>(space: Space<P>, outer: Proven<P>, inner: Proven<P>): boolean {
  const { resource, within } = inner.region
  if (outer.region.within !== null && !space.denies(outer.region.within, inner.region)) return false
  if (!space.grants('to', outer.region.resource, resource)) return false
  // Both exclude the denies of `to`, but the outer one may exclude more.
  return outer.allowed.every(({ pattern }) => {
    if (!space.tidyMeter.spend(1)) return false
    const part = space.overlap(resource, pattern)
    if (part === null) return true
    if (within !== null) return false
    return space.find({ ...questionOf(inner), region: part }).kind === 'none'
  })
}

/** Drops exceptions that another one covers, and those outside the region. */
export function brief<P>(space: Space<P>, change: Proven<P>): Proven<P> {
  const { region } = change
  // Too many for a reader, and each comparison would involve hundreds of others.
  const exceptions = change.denied.length + change.allowed.length
  if (exceptions > MAX_BRIEF || !space.tidyMeter.spend(exceptions)) return change
  const inside = change.denied.filter(({ pattern }) => space.isException(pattern, region))
  const denied = maximalDenies(space, inside)
  const nearDenied = space.indexDenies(denied)
  const undenied = change.allowed.filter((allow) => {
    const own = { resource: allow.pattern, within: null }
    return !nearDenied(own, space.tidyMeter).some((deny) => space.denies(deny.pattern, own))
  })
  const nearAllowed = space.indexAllows(undenied)
  const allowed = maximal(undenied, {
    near: ({ pattern }) => nearAllowed({ resource: pattern, within: null }, space.tidyMeter),
    covers: (outer, inner) => space.grants('from', outer.pattern, inner.pattern),
    meter: space.tidyMeter,
  })
  return { ...change, denied, allowed }
}
