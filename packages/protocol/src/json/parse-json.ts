import { countMembers } from './count-members.ts'
import { findJsonFault } from './json-fault.ts'

/** Deepest nesting of objects and arrays that any document of ours needs, with room to spare. */
const MAX_DEPTH = 32
const LINE_FEED = 0x0a

export type JsonResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem }

export interface JsonProblem {
  readonly kind: 'syntax' | 'duplicate_member' | 'too_deep'
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** Offset into the text in UTF-16 code units; -1 when unknown. */
  readonly offset: number
  /** The repeated member. */
  readonly member?: string
}

/**
 * Parses JSON (RFC 8259) and refuses texts that two readers could read in two ways: a repeated
 * member in one object, and nesting deeper than 32. Never throws. Linear in the text; the checks
 * beside `JSON.parse` hold no memory.
 */
export function parseJson(text: string): JsonResult {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const fault = findJsonFault(text, { maxDepth: MAX_DEPTH, repeatedMembers: 'allowed' })
    const offset = fault?.kind === 'syntax' ? fault.offset : -1
    const message = describeSyntaxError(text, offset)
    return { ok: false, problem: { kind: 'syntax', message, offset } }
  }
  if (countParsedMembers(value, MAX_DEPTH) === countMembers(text)) return { ok: true, value }
  const problem = findAmbiguity(text)
  return problem === null ? { ok: true, value } : { ok: false, problem }
}

/**
 * How many members the objects of a parsed value have in all; NaN, which equals no count, when the
 * value is deeper than `levels`. `JSON.parse` keeps one of two equal members, so a text without
 * repeated members is one that has just as many.
 */
function countParsedMembers(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (levels === 0) return Number.NaN
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) members += countParsedMembers(element, levels - 1)
    return members
  }
  const object = value as Readonly<Record<string, unknown>>
  // Without an array of names for each object.
  for (const name in object) members += 1 + countParsedMembers(object[name], levels - 1)
  return members
}

function findAmbiguity(text: string): JsonProblem | null {
  const fault = findJsonFault(text, { maxDepth: MAX_DEPTH, repeatedMembers: 'refused' })
  switch (fault?.kind) {
    case 'too_deep':
      return { ...fault, message: `nesting is deeper than ${MAX_DEPTH} levels` }
    case 'duplicate_member':
      return { ...fault, message: `member \`${fault.member}\` stands twice` }
    default:
      return null
  }
}

function describeSyntaxError(text: string, offset: number): string {
  if (text.trim() === '') return 'the text is empty; expected a JSON value'
  if (offset < 0) return 'the text is not valid JSON; it ends too early or has a stray character'
  let [line, lineStart] = [1, 0]
  // Not split into lines: a text may be millions of empty ones.
  for (let index = 0; index < offset; index += 1)
    if (text.charCodeAt(index) === LINE_FEED) [line, lineStart] = [line + 1, index + 1]
  return `the text is not valid JSON at line ${line}, column ${offset - lineStart + 1}`
}
