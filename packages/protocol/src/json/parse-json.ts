import { measureJson, type ExtentLimits, type JsonExtent } from './json-extent.ts'
import { seekJsonFault } from './json-fault.ts'

/** Maximum nesting of objects and arrays, more than every Palisade document needs. */
const MAX_DEPTH = 32
const LINE_FEED = 0x0a

export type JsonResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem }

export interface JsonProblem {
  readonly kind: 'syntax' | 'duplicate_member' | 'too_deep' | 'too_many_values' | 'too_many_shapes'
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** Offset into the text in UTF-16 code units; -1 when unknown. */
  readonly offset: number
  /** The repeated member. */
  readonly member?: string
}

export interface JsonLimits {
  /** Maximum nesting of objects and arrays; 32 by default. */
  readonly maxDepth?: number
  /** In the whole text. */
  readonly maxValues?: number
  /** Different beginnings of lists of member names. V8 takes microseconds for each new one. */
  readonly maxShapes?: number
}

/**
 * Parses JSON (RFC 8259) and refuses texts beyond `limits`, and those that two readers could read
 * in two ways: a repeated member in one object. Never throws. Linear in the text; the checks beside
 * `JSON.parse` hold no memory but the shapes of objects.
 */
export function parseJson(text: string, limits: JsonLimits = {}): JsonResult {
  const steps = parseJsonInSteps(text, limits)
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
}

/**
 * The result of `parseJson`, for a text of megabytes: yields where other work may be done. A step
 * takes some tens of milliseconds for 4 MiB of a few hundred thousand values in a few shapes.
 */
export function* parseJsonInSteps(
  text: string,
  { maxDepth = MAX_DEPTH, maxValues = Infinity, maxShapes = Infinity }: JsonLimits,
): Generator<void, JsonResult> {
  const limits = { depth: maxDepth, values: maxValues, shapes: maxShapes }
  const extent = yield* measureJson(text, limits)
  const excess = findExcess(extent, limits)
  if (excess !== null) return { ok: false, problem: excess }
  yield
  // Deep nesting is slow in `JSON.parse`, so it is refused first.
  const parsed = extent.depth > maxDepth ? null : tryParse(text)
  yield
  if (parsed !== null && countMembers(parsed.value) === extent.members)
    return { ok: true, value: parsed.value }
  return { ok: false, problem: yield* seekJsonProblem(text, maxDepth) }
}

function findExcess(extent: JsonExtent, limits: ExtentLimits): JsonProblem | null {
  if (extent.values > limits.values)
    return tooMuch('too_many_values', `the text holds more than ${limits.values} values`)
  if (extent.shapes > limits.shapes)
    return tooMuch('too_many_shapes', `more than ${limits.shapes} different lists of member names`)
  return null
}

function tooMuch(kind: JsonProblem['kind'], message: string): JsonProblem {
  return { kind, message, offset: -1 }
}

/**
 * The problem of a text that is refused: the first place that is not JSON or too deep, or else the
 * first repeated member.
 */
function* seekJsonProblem(text: string, maxDepth: number): Generator<void, JsonProblem> {
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
      return { kind: 'syntax', message: describeSyntaxError(text, offset), offset }
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

function describeSyntaxError(text: string, offset: number): string {
  if (text.trim() === '') return 'the text is empty; expected a JSON value'
  if (offset < 0) return 'the text is not valid JSON; it ends too early or has a stray character'
  let [line, lineStart] = [1, 0]
  // Not split into lines: a text may be millions of empty ones.
  for (let index = 0; index < offset; index += 1) {
    if (text.charCodeAt(index) !== LINE_FEED) continue
    line += 1
    lineStart = index + 1
  }
  return `the text is not valid JSON at line ${line}, column ${offset - lineStart + 1}`
}
