import type { CompiledRule } from '../decision/compiled-policy.ts'
import type { CanonicalRequest } from '../decision/decision.ts'
import type { Meter, Search } from './meter.ts'

/** A rule that has a pattern, and how the pattern is written there. */
export interface Cause {
  readonly rule: CompiledRule
  readonly resource: string
}

/** A pattern of one policy with every rule that has it. */
export interface Listed<P> {
  /** Patterns with the same key mean the same; not always the reverse. */
  readonly key: string
  readonly pattern: P
  readonly causes: readonly Cause[]
}

/** The patterns of one policy that allow and those that deny one action, by key. */
export interface Side<P> {
  readonly allow: ReadonlyMap<string, Listed<P>>
  readonly deny: ReadonlyMap<string, Listed<P>>
}

/** What one pattern matches as an allow does and, when there is another, that as a deny does. */
export interface Region<P> {
  readonly resource: P
  readonly within: P | null
}

/**
 * Finds patterns near a region: at least all that intersect it, without looking at every one. The
 * answer is whole even when it takes more than the meter has left.
 */
export type Near<P, T> = (region: Region<P>, meter: Meter) => readonly T[]

/** What is to be found: a request in the region that none of the other patterns matches. */
export interface Question<P> {
  readonly region: Region<P>
  /** Matched as denies. */
  readonly denied: readonly P[]
  /** Matched as allows. */
  readonly allowed: readonly P[]
}

/**
 * What the comparison has to know of names, addresses or paths; the rest is the same for all. A
 * space belongs to one action and one direction: `from` denied what `to` allows.
 */
export interface Space<P> {
  readonly from: Side<P>
  readonly to: Side<P>
  readonly meter: Meter
  /** For what only makes the answer shorter, so that this never costs the answer itself. */
  readonly tidyMeter: Meter
  /** Allows that have something in common with the allow that is the region's resource. */
  readonly indexAllows: <T extends { readonly pattern: P }>(items: readonly T[]) => Near<P, T>
  /** Denies that match something in a region. */
  readonly indexDenies: <T extends { readonly pattern: P }>(items: readonly T[]) => Near<P, T>
  /** Allows that grant something which the deny that is the region's resource matches. */
  readonly indexDenied: <T extends { readonly pattern: P }>(items: readonly T[]) => Near<P, T>
  /** Where an allow of `to` and a deny of `from` both match; null when nowhere. */
  readonly meet: (allow: P, deny: P) => Region<P> | null
  /** Where two allows both match; null when nowhere. */
  readonly overlap: (a: P, b: P) => Region<P> | null
  /** Tells whether an allow grants all that `inner` does. A wrong `false` costs brevity only. */
  readonly grants: (policy: 'from' | 'to', outer: P, inner: P) => boolean
  /** Tells whether a deny matches all that the region holds; as for `grants`. */
  readonly denies: (deny: P, region: Region<P>) => boolean
  /** Tells whether an allow of `from` that is near an allow of `to` grants something there. */
  readonly counts: (allow: P, resource: P) => boolean
  /** Whether a deny of `to` that is near a region is worth telling those who read of the region. */
  readonly isException: (deny: P, region: Region<P>) => boolean
  /** With `within`, an allow counts only where it opens what that protects. */
  readonly find: (question: Question<P>) => Search<CanonicalRequest>
  /** The smallest region that still holds all that the question asks for. */
  readonly tighten: (question: Question<P>) => Region<P>
  readonly format: (pattern: P) => string
}
