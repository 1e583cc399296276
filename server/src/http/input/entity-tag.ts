import { ApiError, invalidArgument } from '../../platform/api-error.ts'

/** The entity tags of a conditional header (RFC 9110 §8.8.3), or `*` for any. */
export type EntityTags = '*' | readonly string[]

const ENTITY_TAG = /\s*(?<tag>(?:W\/)?"[\x21\x23-\x7E\x80-\xFF]*")\s*(?:,|$)/y
const EMPTY_ELEMENT = /\s*,/y

/** The strong entity tag of something that has a revision. */
export function formatEntityTag(revision: number): string {
  return `"${revision}"`
}

/** Reads `If-Match` or `If-None-Match`; null when it was not sent, 400 when it is malformed. */
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
 * Throws 412 unless `tags` allow a change of what has the tag `current` (null for what has none).
 * Null as `tags` allows anything.
 */
export function requireMatch(
  tags: EntityTags | null,
  current: string | null,
  subject = 'policy',
): void {
  if (tags === null || tags === '*') return
  // Strong comparison: a weak tag equals nothing (RFC 9110 §13.1.1).
  if (current !== null && tags.includes(current)) return
  throw new ApiError(
    412,
    'conflict',
    `the ${subject} is not what \`If-Match\` names; fetch it again`,
  )
}

/** Tells whether the caller of a GET has `current` already; weak comparison (§13.1.2). */
export function isKnown(tags: EntityTags | null, current: string): boolean {
  if (tags === null) return false
  return tags === '*' || tags.some((tag) => tag === current || tag === `W/${current}`)
}

/** Empty when the list is malformed. */
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
