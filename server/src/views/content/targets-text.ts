import type { ViewSettings, ViewTarget } from '@palisade/protocol'
import { formatCanonicalJson } from '../../history/canonical-json.ts'

/** A document that a targets file lists. */
export interface Listed {
  /** Name of the target, such as `policies/pol_….json`. */
  readonly name: string
  /** The SHA-256 of the body, lower-case hexadecimal. */
  readonly sha256: string
  readonly body: Uint8Array
  readonly custom: ViewTarget
}

/** Members of a targets file beside its documents. */
export interface TargetsMembers {
  readonly version: number
  readonly spec_version: string
  readonly expires: string
  readonly 'x-org': string
  readonly 'x-view': string
  readonly 'x-settings': ViewSettings
}

/** A document as a targets file lists it: one member of `targets`, in canonical JSON. */
export function formatEntry({ name, sha256, body, custom }: Listed): string {
  const entry = { custom, hashes: { sha256 }, length: body.byteLength }
  return `${JSON.stringify(name)}:${formatCanonicalJson(entry)}`
}

/** `targets` of a targets file in canonical JSON. */
export function formatListing(documents: readonly Listed[]): string {
  return joinEntries(documents.toSorted(byName).map(formatEntry))
}

/** Joins entries into a listing, in the order of their names. */
export function joinEntries(entries: readonly string[]): string {
  return `{${entries.join(',')}}`
}

/** In the order of canonical JSON. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}

/** A text on both sides of a listing. */
export interface AroundListing {
  readonly head: string
  readonly tail: string
}

/**
 * The bytes that the targets key signs, without the listing. Written here because the time of the
 * library's `Targets.toJSON` grows with the square of the number of documents. The bytes are the
 * same: no text here holds a control character, which the library's canonical JSON leaves as it is
 * and RFC 8785 escapes.
 */
export function formatAroundListing(members: TargetsMembers): AroundListing {
  const texts = Object.entries({ ...members, _type: 'targets' })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, `"${name}":${formatCanonicalJson(value)}`] as const)
  const before = texts.filter(([name]) => name < 'targets').map(([, text]) => `${text},`)
  const after = texts.filter(([name]) => name > 'targets').map(([, text]) => `,${text}`)
  return { head: `{${before.join('')}"targets":`, tail: `${after.join('')}}` }
}
