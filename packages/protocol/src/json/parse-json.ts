import { seekJsonFault } from './json-fault.ts'

/** Maximum nesting of objects and arrays, more than every Palisade document needs. */
export const MAX_DEPTH = 32
const LINE_FEED = 0x0a
/** Code units searched for line feeds between two turns. */
const UNITS_A_TURN = 1024 * 1024

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
 * member in one object, and nesting deeper than `maxDepth`. Never throws. Linear in the text; the
 * checks beside `JSON.parse` hold no memory.
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): JsonResult {
  const { members, depth } = measureJson(text)
  // Deep nesting is slow in `JSON.parse`, so it is refused first.
  const parsed = depth > maxDepth ? null : tryParse(text)
  if (parsed !== null && countMembers(parsed.value) === members)
    return { ok: true, value: parsed.value }
  const seek = seekJsonProblem(text, maxDepth)
  for (let step = seek.next(); ; step = seek.next())
    if (step.done === true) return { ok: false, problem: step.value }
}

/**
 * The problem of a text that is refused: the first place that is not JSON or too deep, or else the
 * first repeated member. Yields now and then.
 */
export function* seekJsonProblem(text: string, maxDepth = MAX_DEPTH): Generator<void, JsonProblem> {
  const fault =
    (yield* seekJsonFault(text, { maxDepth, repeatedMembers: 'allowed' })) ??
    (yield* seekJsonFault(text, { maxDepth, repeatedMembers: 'refused' }))
  switch (fault?.kind) {
    case 'too_deep':
      return { ...fault, message: `nesting is deeper than ${maxDepth} levels` }
    case 'duplicate_member':
      return { ...fault, message: `member \`${fault.member}\` stands twice` }
    default: {
      const offset = fault?.offset ?? -1
      return { kind: 'syntax', message: yield* describeSyntaxError(text, offset), offset }
    }
  }
}

function tryParse(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return null
  }
}

/**
 * Number of members of all objects in a parsed value. `JSON.parse` keeps one of two equal members,
 * so the text has no repeated members exactly when it has the same number.
 */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) members += countMembers(element)
    return members
  }
  const object = value as Readonly<Record<string, unknown>>
  // Without an array of names for each object.
  for (const name in object) members += 1 + countMembers(object[name])
  return members
}

function* describeSyntaxError(text: string, offset: number): Generator<void, string> {
  if (text.trim() === '') return 'the text is empty; expected a JSON value'
  if (offset < 0) return 'the text is not valid JSON; it ends too early or has a stray character'
  let [line, lineStart] = [1, 0]
  // Not split into lines: a text may be millions of empty ones.
  for (let index = 0; index < offset; index += 1) {
    if (text.charCodeAt(index) === LINE_FEED) {
      line += 1
      lineStart = index + 1
    }
    if (index % UNITS_A_TURN === UNITS_A_TURN - 1) yield
  }
  return `the text is not valid JSON at line ${line}, column ${offset - lineStart + 1}`
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

interface JsonExtent {
  /** Members of all objects, including repeated ones. */
  readonly members: number
  /** Maximum nesting of objects and arrays. */
  readonly depth: number
}

/** Measures a JSON text without parsing it. For other texts the numbers are arbitrary. */
function measureJson(text: string): JsonExtent {
  let [members, depth, deepest] = [0, 0, 0]
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) index = endOfString(text, index)
    else if (unit === COLON) members += 1
    else if (unit === OPEN_ARRAY || unit === OPEN_OBJECT) depth += 1
    else if (unit === CLOSE_ARRAY || unit === CLOSE_OBJECT) depth -= 1
    if (depth > deepest) deepest = depth
  }
  return { members, depth: deepest }
}

/** The quotation mark that ends the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  for (; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) break
    if (unit === BACKSLASH) index += 1
  }
  return index
}
