import { ApiError, invalidArgument } from '../../platform/api-error.ts'

/** The entity tags of a conditional header (RFC 9110 §8.8.3), or `*` for any. */
export type EntityTags = '*' | readonly string[]

const ENTITY_TAG = /\s*(?<tag>(?:W\/)?"[\x21\x23-\x7E\x80-\xFF]*")\s*(?:,|$)/y
const EMPTY_ELEMENT = /\s*,/y

/** Formats a revision as a strong entity tag. */
export function formatEntityTag(revision: number): string {
  return `"${revision}"`
}

/** Parses `If-Match` or `If-None-Match`; null without the header. Throws 400 when malformed. */
export function readEntityTags(header: string, value: string | undefined): EntityTags | null {
  if (value === undefined) return null
  if (value.trim() === '*') return '*'
  const tags = splitEntityTags(value)
  if (tags.length > 0) return tags
  throw invalidArgument(`\`${header}\` must be \`*\` or a list of quoted entity tags`, {
    field: header,
  })
}

/**
 * Throws 412 unless `tags` match `current`, which is null for a resource without an entity tag.
 * Null as `tags` allows any change.
 */
export function requireMatch(
  tags: EntityTags | null,
  current: string | null,
  subject = 'policy',
): void {
  if (tags === null || tags === '*') return
  // Strong comparison: a weak tag never matches (RFC 9110 §13.1.1).
  if (current !== null && tags.includes(current)) return
  throw new ApiError(412, 'conflict', `the ${subject} does not match \`If-Match\`; fetch it again`)
}

/** Tells whether the caller of a GET already has `current`, by weak comparison (§13.1.2). */
export function isKnown(tags: EntityTags | null, current: string): boolean {
  if (tags === null) return false
  return tags === '*' || tags.some((tag) => tag === current || tag === `W/${current}`)
}

/** Returns an empty array for a malformed list. */
function splitEntityTags(value: string): string[] {
  const tags: string[] = []
  let offset = 0
  while (offset < value.length) {
    EMPTY_ELEMENT.lastIndex = offset
    ENTITY_TAG.lastIndex = offset
    const tag = ENTITY_TAG.exec(value)?.groups?.['tag']
    if (tag !== undefined) {
      tags.push(tag)
      offset = ENTITY_TAG.lastIndex
    } else if (EMPTY_ELEMENT.test(value)) offset = EMPTY_ELEMENT.lastIndex
    else return value.slice(offset).trim() === '' ? tags : []
  }
  return tags
}
