import type { FilesystemAction } from '@palisade/policy-core'
import type { GlobPath, Segments } from '@palisade/policy-core/internal'
import { coversPath, intersectsPath } from '../../pattern/path-containment.ts'
import { formatSegments, keyOfSegments } from '../../pattern/format-pattern.ts'
import { askPaths, found, type SpaceMeters } from '../meter.ts'
import type { Region, Side, PatternSpace } from '../pattern-space.ts'
import { findInPaths } from './find-in-paths.ts'
import { matchesSample } from './matches-sample.ts'
import { mayIntersect } from './may-intersect.ts'
import { indexPaths } from './path-index.ts'
import { jointSample, samplePath } from './sample-path.ts'

/** Steps for a question that only shortens the comparison. */
const BRIEF_BUDGET = 20_000

/** The space of paths, where allows and denies match alike. */
export function createPathSpace(
  action: FilesystemAction,
  from: Side<Segments>,
  to: Side<Segments>,
  { meter, tidyMeter }: SpaceMeters,
): PatternSpace<Segments> {
  // One sample path decides most questions, so each pattern keeps its sample.
  const samples = new Map<Segments, GlobPath | null>()
  const sampleOf = (pattern: Segments): GlobPath | null => {
    const known = samples.get(pattern)
    if (known !== undefined) return known
    const sample = samplePath(pattern)
    samples.set(pattern, sample)
    return sample
  }
  const hasSample = (path: GlobPath | null, pattern: Segments): boolean =>
    path !== null && matchesSample(pattern, path, tidyMeter)
  const covers = (outer: Segments, inner: Segments): boolean =>
    tidyMeter.spend(1) &&
    (sampleOf(inner) === null || hasSample(sampleOf(inner), outer)) &&
    askPaths(tidyMeter, BRIEF_BUDGET, (steps) => coversPath(outer, inner, steps)) === 'yes'
  const isApart = (a: Segments, b: Segments): boolean => {
    if (hasSample(sampleOf(a), b) || hasSample(sampleOf(b), a)) return false
    if (!tidyMeter.spend(1 + a.length * b.length)) return false
    if (!mayIntersect(a, b)) return true
    if (hasSample(jointSample(a, b), b) || hasSample(jointSample(b, a), a)) return false
    return askPaths(tidyMeter, BRIEF_BUDGET, (steps) => intersectsPath(a, b, steps)) === 'no'
  }
  const overlap = (a: Segments, b: Segments): Region<Segments> | null => {
    if (isApart(a, b)) return null
    if (covers(a, b)) return { resource: b, within: null }
    return { resource: a, within: covers(b, a) ? null : b }
  }
  const denies = (deny: Segments, { resource, within }: Region<Segments>): boolean =>
    covers(deny, resource) || (within !== null && covers(deny, within))
  return {
    from,
    to,
    meter,
    tidyMeter,
    indexAllows: indexPaths,
    indexDenies: indexPaths,
    indexDenied: indexPaths,
    meet: overlap,
    overlap,
    grants: (_policy, outer, inner) => covers(outer, inner),
    denies,
    counts: () => true,
    isException: (deny, { resource, within }) =>
      !isApart(deny, resource) && (within === null || !isApart(deny, within)),
    find: ({ region, denied, allowed }) => {
      const { resource, within } = region
      const result = findInPaths([resource, within], [...denied, ...allowed], meter)
      return result.kind === 'found' ? found({ action, path: result.value }) : result
    },
    tighten: ({ region }) => region,
    format: (pattern) => formatSegments(pattern) ?? writtenText(pattern, from, to),
  }
}

/** A home directory with `*` in its name has no notation other than `~`. */
function writtenText(pattern: Segments, ...sides: readonly Side<Segments>[]): string {
  const key = `~${keyOfSegments(pattern)}`
  for (const { allow, deny } of sides) {
    const listed = allow.get(key) ?? deny.get(key)
    const [cause] = listed?.causes ?? []
    if (cause !== undefined) return cause.resource
  }
  return key
}
