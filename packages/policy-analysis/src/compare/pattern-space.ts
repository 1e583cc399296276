import type { CanonicalRequest } from '@palisade/policy-core'
import type { CompiledRule } from '@palisade/policy-core/internal'
import type { Meter, SearchResult } from './meter.ts'

/** A rule with a pattern, and the spelling of the pattern there. */
export interface Cause {
  readonly rule: CompiledRule
  readonly resource: string
}

/** A pattern of one policy with all rules that contain it. */
export interface Listed<P> {
  /** Patterns with the same key are equivalent; equivalent patterns may have different keys. */
  readonly key: string
  readonly pattern: P
  readonly causes: readonly Cause[]
}

/** The allowing and the denying patterns of one policy for one action, by key. */
export interface Side<P> {
  readonly allow: ReadonlyMap<string, Listed<P>>
  readonly deny: ReadonlyMap<string, Listed<P>>
}

/** A set of requests: `resource` matches like an allow and `within`, if present, like a deny. */
export interface Region<P> {
  readonly resource: P
  readonly within: P | null
}

/**
 * Finds patterns near a region, at least all that intersect it, without a full scan. The answer is
 * complete even when it costs more than the meter has left.
 */
export type Near<P, T> = (region: Region<P>, meter: Meter) => readonly T[]

/** The search for a request in the region that no other pattern matches. */
export interface Question<P> {
  readonly region: Region<P>
  /** Matched as denies. */
  readonly denied: readonly P[]
  /** Matched as allows. */
  readonly allowed: readonly P[]
}

/**
 * The part of a comparison that is specific to names, addresses or paths. A space belongs to one
 * action and one direction: it concerns requests that `from` denies and `to` allows.
 */
export interface PatternSpace<P> {
  readonly from: Side<P>
  readonly to: Side<P>
  readonly meter: Meter
  /** For work that only shortens the answer, so that it never reduces the answer's own budget. */
  readonly tidyMeter: Meter
  /** Finds allows that intersect the allow that is the region's resource. */
  readonly indexAllows: <T extends { readonly pattern: P }>(items: readonly T[]) => Near<P, T>
  /** Finds denies that match some request in a region. */
  readonly indexDenies: <T extends { readonly pattern: P }>(items: readonly T[]) => Near<P, T>
  /** Finds allows that grant some request that the region's resource matches as a deny. */
  readonly indexDenied: <T extends { readonly pattern: P }>(items: readonly T[]) => Near<P, T>
  /** The region in which an allow of `to` and a deny of `from` both match, or null. */
  readonly meet: (allow: P, deny: P) => Region<P> | null
  /** The region in which two allows both match, or null. */
  readonly overlap: (a: P, b: P) => Region<P> | null
  /** Tells whether an allow grants all that `inner` does. A wrong `false` costs brevity only. */
  readonly grants: (policy: 'from' | 'to', outer: P, inner: P) => boolean
  /** Tells whether a deny matches the whole region. A wrong `false` costs brevity only. */
  readonly denies: (deny: P, region: Region<P>) => boolean
  /** Tells whether an allow of `from` near an allow of `to` grants some request there. */
  readonly counts: (allow: P, resource: P) => boolean
  /** Whether to list a deny of `to` near a region as an exception of that region. */
  readonly isException: (deny: P, region: Region<P>) => boolean
  /** With `within`, an allow counts only where it opens addresses that `within` protects. */
  readonly find: (question: Question<P>) => SearchResult<CanonicalRequest>
  /** The smallest region that still holds every answer to the question. */
  readonly tighten: (question: Question<P>) => Region<P>
  readonly format: (pattern: P) => string
}
