import type { CanonicalRequest } from '@palisade/policy-core'
import { dropCovered, dropCoveredDenies } from './drop-covered.ts'
import { firstFound, type SearchResult } from './meter.ts'
import type { Cause, Listed, Near, Question, Region, PatternSpace } from './pattern-space.ts'

/** A region in which requests may have become reachable, with its exceptions. */
export interface Candidate<P> {
  readonly region: Region<P>
  /** Denied in `to`. */
  readonly denied: readonly Listed<P>[]
  /** Allowed in `from` already. */
  readonly allowed: readonly Listed<P>[]
  /** The cause of the change: a new allow or a removed deny. */
  readonly causes: readonly Listed<P>[]
}

/** A removed deny with so many allows inside that it is reported as a whole. */
export interface CandidateGroup<P> {
  /** The deny. */
  readonly region: Region<P>
  readonly causes: readonly Listed<P>[]
  readonly parts: readonly Candidate<P>[]
}

/** Maximum number of changes of one removed deny that are reported separately. */
const MAX_PARTS = 16

/** Cost to compute and record the region in which an allow and a deny meet. */
const STEPS_TO_MEET = 3

/** Indices of the patterns of a space. */
export interface Indices<P> {
  readonly fromAllows: Near<P, Listed<P>>
  /** Denies of `from` that are missing in `to`. */
  readonly goneDenies: Near<P, Listed<P>>
  readonly toDenies: Near<P, Listed<P>>
  readonly toAllows: Near<P, Listed<P>>
  readonly toAllowsDenied: Near<P, Listed<P>>
}

/** Builds each index at its first use, because most are never used after a small change. */
export function indexSpace<P>(space: PatternSpace<P>): Indices<P> {
  const { from, to } = space
  return {
    fromAllows: lazily(() => space.indexAllows([...from.allow.values()])),
    goneDenies: lazily(() => space.indexDenies(goneDenies(space))),
    toDenies: lazily(() => space.indexDenies([...to.deny.values()])),
    toAllows: lazily(() => space.indexAllows([...to.allow.values()])),
    toAllowsDenied: lazily(() => space.indexDenied([...to.allow.values()])),
  }
}

function lazily<P>(build: () => Near<P, Listed<P>>): Near<P, Listed<P>> {
  let near: Near<P, Listed<P>> | null = null
  return (region, meter) => {
    near ??= build()
    return near(region, meter)
  }
}

/** Denies of `from` that are missing in `to`, each once regardless of its spelling. */
export function goneDenies<P>(space: PatternSpace<P>): readonly Listed<P>[] {
  return missing(space, space.from.deny, space.to.deny)
}

function missing<P>(
  space: PatternSpace<P>,
  patterns: ReadonlyMap<string, Listed<P>>,
  others: ReadonlyMap<string, Listed<P>>,
): readonly Listed<P>[] {
  const texts = new Map<string, Listed<P> & { readonly causes: Cause[] }>()
  for (const listed of patterns.values()) {
    if (others.has(listed.key)) continue
    const text = space.format(listed.pattern)
    const known = texts.get(text)
    if (known === undefined) texts.set(text, { ...listed, causes: [...listed.causes] })
    else for (const cause of listed.causes) known.causes.push(cause)
  }
  return [...texts.values()]
}

/**
 * A request that becomes reachable matches an allow of `to`. Either it matches no allow of `from`,
 * so the allow is new, or it matches a deny of `from` that is removed. Only new allows and removed
 * denies are searched.
 */
export function* findCandidates<P>(
  space: PatternSpace<P>,
  indices: Indices<P>,
): Generator<Candidate<P> | CandidateGroup<P>> {
  for (const gone of dropCoveredDenies(space, goneDenies(space))) {
    const regions = largestRegions(space, [...closedRegions(space, indices, gone)])
    const parts = regions.map((region) => candidate(space, indices, { region, causes: [gone] }))
    const whole = { region: { resource: gone.pattern, within: null }, causes: [gone] }
    if (parts.length <= MAX_PARTS) yield* parts
    else yield { ...whole, parts }
    // Not every allow was searched, so the question stays open, without exceptions.
    if (space.meter.isSpent()) yield { ...whole, denied: [], allowed: [] }
  }
  for (const added of missing(space, space.to.allow, space.from.allow)) {
    const region = { resource: added.pattern, within: null }
    yield candidate(space, indices, { region, causes: [added] }, true)
  }
}

/** Drops regions that lie in another one. All are within the same deny. */
function largestRegions<P>(
  space: PatternSpace<P>,
  regions: readonly Region<P>[],
): readonly Region<P>[] {
  const items = regions.map((region) => ({ region, pattern: region.resource }))
  const near = space.indexAllows(items)
  return dropCovered(items, {
    near: ({ region }) => near(region, space.tidyMeter),
    covers: (outer, inner) => space.grants('to', outer.pattern, inner.pattern),
    meter: space.tidyMeter,
  }).map(({ region }) => region)
}

/** Regions in which allows of `to` meet a removed deny of `from`. */
export function* closedRegions<P>(
  space: PatternSpace<P>,
  { toAllowsDenied }: Indices<P>,
  { pattern }: Pick<Listed<P>, 'pattern'>,
): Generator<Region<P>> {
  if (space.meter.isSpent()) return
  const seen = new Set<string>()
  for (const allow of toAllowsDenied({ resource: pattern, within: null }, space.meter)) {
    if (!space.meter.spend(STEPS_TO_MEET)) return
    const region = space.meet(allow.pattern, pattern)
    if (region === null) continue
    // Every allow around a deny yields the same region: the deny itself.
    const text = space.format(region.resource)
    if (seen.has(text)) continue
    seen.add(text)
    yield region
  }
}

/** Searches for a request that confirms the candidate. */
export function testCandidate<P>(
  space: PatternSpace<P>,
  tested: Candidate<P> | CandidateGroup<P>,
): SearchResult<CanonicalRequest> {
  return 'parts' in tested
    ? firstFound(tested.parts, (part) => space.find(questionOf(part)))
    : space.find(questionOf(tested))
}

function candidate<P>(
  space: PatternSpace<P>,
  { toDenies, fromAllows }: Indices<P>,
  start: Pick<Candidate<P>, 'region' | 'causes'>,
  isNew = false,
): Candidate<P> {
  // Without budget only the region can be reported.
  if (space.meter.isSpent()) return { ...start, denied: [], allowed: [] }
  const { resource } = start.region
  const allowed = isNew
    ? fromAllows(start.region, space.meter).filter(({ pattern }) => space.counts(pattern, resource))
    : []
  return { ...start, denied: toDenies(start.region, space.meter), allowed }
}

export function questionOf<P>({ region, denied, allowed }: Candidate<P>): Question<P> {
  return {
    region,
    denied: denied.map(({ pattern }) => pattern),
    allowed: allowed.map(({ pattern }) => pattern),
  }
}
