import type { CanonicalRequest } from '../decision/decision.ts'
import { maximal, maximalDenies } from './maximal.ts'
import { firstFound, type Search } from './meter.ts'
import type { Cause, Listed, Near, Question, Region, Space } from './space.ts'

/** A region in which something may have become reachable, and what is left out of it. */
export interface Suspect<P> {
  readonly region: Region<P>
  /** Denied in `to`. */
  readonly denied: readonly Listed<P>[]
  /** Allowed in `from` already. */
  readonly allowed: readonly Listed<P>[]
  /** What changed: an allow that is new, or a deny that is gone. */
  readonly causes: readonly Listed<P>[]
}

/** A gone deny in which so many allows count that one sentence says more than all of them. */
export interface Crowd<P> {
  /** The deny. */
  readonly region: Region<P>
  readonly causes: readonly Listed<P>[]
  readonly parts: readonly Suspect<P>[]
}

/** As many changes as one gone deny may have before they are told as one. */
const MAX_PARTS = 16

/** To look where an allow and a deny meet, and to write that down. */
const STEPS_TO_MEET = 3

/** The patterns of a space, made ready to be found. */
export interface Indices<P> {
  readonly fromAllows: Near<P, Listed<P>>
  /** Denies of `from` that `to` has not. */
  readonly goneDenies: Near<P, Listed<P>>
  readonly toDenies: Near<P, Listed<P>>
  readonly toAllows: Near<P, Listed<P>>
  readonly toAllowsDenied: Near<P, Listed<P>>
}

/** Every index is made when it is first asked, since little of what did not change is. */
export function indexSpace<P>(space: Space<P>): Indices<P> {
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

/** Denies of `from` that `to` has not, each once however it is written. */
export function goneDenies<P>(space: Space<P>): readonly Listed<P>[] {
  return missing(space, space.from.deny, space.to.deny)
}

function missing<P>(
  space: Space<P>,
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
 * Whatever becomes reachable lies in an allow of `to`, and then either in none of `from`, so that
 * the allow is new, or in a deny of `from`, which is gone. Only these are looked at.
 */
export function* findSuspects<P>(
  space: Space<P>,
  indices: Indices<P>,
): Generator<Suspect<P> | Crowd<P>> {
  for (const gone of maximalDenies(space, goneDenies(space))) {
    const regions = largestRegions(space, [...closedRegions(space, indices, gone)])
    const parts = regions.map((region) => suspect(space, indices, { region, causes: [gone] }))
    const whole = { region: { resource: gone.pattern, within: null }, causes: [gone] }
    if (parts.length <= MAX_PARTS) yield* parts
    else yield { ...whole, parts }
    // Not every allow was looked at: the question without exceptions stays open.
    if (space.meter.isSpent()) yield { ...whole, denied: [], allowed: [] }
  }
  for (const added of missing(space, space.to.allow, space.from.allow)) {
    const region = { resource: added.pattern, within: null }
    yield suspect(space, indices, { region, causes: [added] }, true)
  }
}

/** Without those that lie in another one; all are within the same deny. */
function largestRegions<P>(space: Space<P>, regions: readonly Region<P>[]): readonly Region<P>[] {
  const items = regions.map((region) => ({ region, pattern: region.resource }))
  const near = space.indexAllows(items)
  return maximal(items, {
    near: ({ region }) => near(region, space.tidyMeter),
    covers: (outer, inner) => space.grants('to', outer.pattern, inner.pattern),
    meter: space.tidyMeter,
  }).map(({ region }) => region)
}

/** Where allows of `to` meet what a deny of `from` had closed. */
export function* closedRegions<P>(
  space: Space<P>,
  { toAllowsDenied }: Indices<P>,
  { pattern }: Pick<Listed<P>, 'pattern'>,
): Generator<Region<P>> {
  if (space.meter.isSpent()) return
  const seen = new Set<string>()
  for (const allow of toAllowsDenied({ resource: pattern, within: null }, space.meter)) {
    if (!space.meter.spend(STEPS_TO_MEET)) return
    const region = space.meet(allow.pattern, pattern)
    if (region === null) continue
    // Every allow around a deny leaves the deny itself.
    const text = space.format(region.resource)
    if (seen.has(text)) continue
    seen.add(text)
    yield region
  }
}

/** A request that shows that the suspicion is right. */
export function testSuspect<P>(
  space: Space<P>,
  tested: Suspect<P> | Crowd<P>,
): Search<CanonicalRequest> {
  return 'parts' in tested
    ? firstFound(tested.parts, (part) => space.find(questionOf(part)))
    : space.find(questionOf(tested))
}

function suspect<P>(
  space: Space<P>,
  { toDenies, fromAllows }: Indices<P>,
  start: Pick<Suspect<P>, 'region' | 'causes'>,
  isNew = false,
): Suspect<P> {
  // Without budget nothing is found out any more, and only the region is told.
  if (space.meter.isSpent()) return { ...start, denied: [], allowed: [] }
  const { resource } = start.region
  const allowed = isNew
    ? fromAllows(start.region, space.meter).filter(({ pattern }) => space.counts(pattern, resource))
    : []
  return { ...start, denied: toDenies(start.region, space.meter), allowed }
}

export function questionOf<P>({ region, denied, allowed }: Suspect<P>): Question<P> {
  return {
    region,
    denied: denied.map(({ pattern }) => pattern),
    allowed: allowed.map(({ pattern }) => pattern),
  }
}
