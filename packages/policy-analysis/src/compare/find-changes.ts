import type { CanonicalRequest } from '@palisade/policy-core'
import { dropCovered, dropCoveredDenies } from './drop-covered.ts'
import type { Listed, Region, PatternSpace } from './pattern-space.ts'
import type { Candidate, CandidateGroup, Indices } from './candidates.ts'
import { questionOf, testCandidate } from './candidates.ts'

/**
 * Maximum number of exceptions of one change that are compared with each other, in order to remove
 * redundant ones.
 */
const MAX_BRIEF = 1000

/** A candidate that is confirmed by an example. */
export interface Proven<P> extends Candidate<P> {
  readonly example: CanonicalRequest
}

export interface ProvenGroup<P> extends CandidateGroup<P> {
  readonly example: CanonicalRequest
}

export interface FoundChanges<P> {
  readonly groups: readonly ProvenGroup<P>[]
  readonly proven: readonly Proven<P>[]
  /** Regions that were not decided within the budget. */
  readonly undecided: readonly Region<P>[]
}

/**
 * Decides every candidate in `space` and keeps the fewest and largest regions that describe all
 * changes. The reduction runs in `tidySpace`, which has a budget of its own.
 */
export function findChanges<P>(
  {
    space,
    tidySpace,
    indices,
  }: {
    readonly space: PatternSpace<P>
    readonly tidySpace: PatternSpace<P>
    readonly indices: Indices<P>
  },
  candidates: Iterable<Candidate<P> | CandidateGroup<P>>,
): FoundChanges<P> {
  const proven: Proven<P>[] = []
  const groups: ProvenGroup<P>[] = []
  const undecided: Region<P>[] = []
  for (const candidate of candidates) {
    const result = testCandidate(space, candidate)
    if (result.kind === 'unknown') undecided.push(candidate.region)
    if (result.kind !== 'found') continue
    if ('parts' in candidate) {
      groups.push({ ...candidate, example: result.value })
      continue
    }
    const allowed = unchangedAllows(tidySpace, indices, candidate)
    proven.push(tightened(tidySpace, indices, { ...candidate, allowed, example: result.value }))
  }
  const others = largest(tidySpace, withoutGroups(tidySpace, proven, groups))
  return { groups, proven: others.map((change) => brief(tidySpace, change)), undecided }
}

/** The allows of `from` except those that removed denies had closed entirely. */
function unchangedAllows<P>(
  space: PatternSpace<P>,
  { goneDenies, toDenies }: Indices<P>,
  { region, allowed }: Candidate<P>,
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

function tightened<P>(
  space: PatternSpace<P>,
  { toDenies }: Indices<P>,
  change: Proven<P>,
): Proven<P> {
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
function withoutGroups<P>(
  space: PatternSpace<P>,
  changes: readonly Proven<P>[],
  groups: readonly ProvenGroup<P>[],
): readonly Proven<P>[] {
  const near = space.indexDenies(groups.map(({ region }) => ({ pattern: region.resource })))
  return changes.filter(
    ({ region }) =>
      space.tidyMeter.isSpent() ||
      !near(region, space.tidyMeter).some(({ pattern }) => space.denies(pattern, region)),
  )
}

/** Drops the changes that another one covers. */
function largest<P>(space: PatternSpace<P>, changes: readonly Proven<P>[]): readonly Proven<P>[] {
  const whole = changes.flatMap((change) =>
    change.region.within === null ? [{ change, pattern: change.region.resource }] : [],
  )
  const parts = changes.flatMap((change) =>
    change.region.within === null ? [] : [{ change, pattern: change.region.within }],
  )
  const nearWhole = space.indexAllows(whole)
  const nearParts = space.indexDenies(parts)
  return dropCovered(changes, {
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

function covers<P>(space: PatternSpace<P>, outer: Proven<P>, inner: Proven<P>): boolean {
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
export function brief<P>(space: PatternSpace<P>, change: Proven<P>): Proven<P> {
  const { region } = change
  // Too many for a reader, and each comparison would involve hundreds of others.
  const exceptions = change.denied.length + change.allowed.length
  if (exceptions > MAX_BRIEF || !space.tidyMeter.spend(exceptions)) return change
  const inside = change.denied.filter(({ pattern }) => space.isException(pattern, region))
  const denied = dropCoveredDenies(space, inside)
  const nearDenied = space.indexDenies(denied)
  const undenied = change.allowed.filter((allow) => {
    const own = { resource: allow.pattern, within: null }
    return !nearDenied(own, space.tidyMeter).some((deny) => space.denies(deny.pattern, own))
  })
  const nearAllowed = space.indexAllows(undenied)
  const allowed = dropCovered(undenied, {
    near: ({ pattern }) => nearAllowed({ resource: pattern, within: null }, space.tidyMeter),
    covers: (outer, inner) => space.grants('from', outer.pattern, inner.pattern),
    meter: space.tidyMeter,
  })
  return { ...change, denied, allowed }
}
