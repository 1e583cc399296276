import jsonc from 'jsonc-parser'

/** Deepest nesting of objects and arrays that any document of ours needs, with room to spare. */
const MAX_DEPTH = 32

export type JsonResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem }

export interface JsonProblem {
  readonly kind: 'syntax' | 'duplicate_member' | 'too_deep'
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** Offset into the text in UTF-16 code units; -1 when unknown. */
  readonly offset: number
  /** The member that stands twice. */
  readonly member?: string
}

/** Carries a finding out of the scanner's callbacks, which cannot stop it otherwise. */
class Found extends Error {
  readonly problem: JsonProblem

  constructor(problem: JsonProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/**
 * Parses JSON (RFC 8259) and refuses what two readers could read in two ways: a member that
 * stands twice in one object, and nesting deeper than 32. Never throws.
 */
export function parseJson(text: string): JsonResult {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const offset = findSyntaxError(text)
    return {
      ok: false,
      problem: { kind: 'syntax', message: describeSyntaxError(text, offset), offset },
    }
  }
  if (isPlainest(value, text)) return { ok: true, value }
  const problem = findAmbiguity(text)
  return problem === null ? { ok: true, value } : { ok: false, problem }
}

/**
 * Whether the text is what `JSON.stringify` makes of its value. No member stands twice in that, so
 * there is nothing to look for: most of what machines send is written so, and reading a thousand
 * documents takes a tenth of the time.
 */
function isPlainest(value: unknown, text: string): boolean {
  return isShallow(value, MAX_DEPTH) && JSON.stringify(value) === text
}

/** First: `JSON.stringify` would not survive every depth. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  if (Array.isArray(value)) return value.every((member) => isShallow(member, levels - 1))
  // Without an array for each object: every document that is read goes through here.
  for (const name in value)
    if (!isShallow((value as Readonly<Record<string, unknown>>)[name], levels - 1)) return false
  return true
}

function describeSyntaxError(text: string, offset: number): string {
  if (text.trim() === '') return 'the text is empty; expected a JSON value'
  if (offset < 0) return 'the text is not valid JSON; it ends too early or has a stray character'
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  return `the text is not valid JSON at line ${line}, column ${column}`
}

/** Where the text stops being JSON, or -1: V8 tells the position for some errors only. */
function findSyntaxError(text: string): number {
  let depth = 0
  const found = (offset: number): never => {
    throw new Found({ kind: 'syntax', message: '', offset })
  }
  // The scanner recurses, so nesting is bounded here as well.
  const enter = (): void => {
    depth += 1
    if (depth > MAX_DEPTH) found(-1)
  }
  const leave = (): void => {
    depth -= 1
  }
  try {
    jsonc.visit(
      text,
      {
        onObjectBegin: enter,
        onObjectEnd: leave,
        onArrayBegin: enter,
        onArrayEnd: leave,
        onError: (_code, offset) => found(offset),
      },
      { disallowComments: true },
    )
  } catch (error) {
    if (error instanceof Found) return error.problem.offset
    throw error
  }
  return -1
}

/** JSON.parse keeps the last of two equal members; another reader may keep the first. */
function findAmbiguity(text: string): JsonProblem | null {
  const members: Set<string>[] = []
  let depth = 0
  const enter = (offset: number): void => {
    depth += 1
    if (depth > MAX_DEPTH)
      throw new Found({
        kind: 'too_deep',
        message: `nesting is deeper than ${MAX_DEPTH} levels`,
        offset,
      })
  }
  try {
    jsonc.visit(
      text,
      {
        onObjectBegin(offset) {
          enter(offset)
          members.push(new Set())
        },
        onObjectEnd() {
          depth -= 1
          members.pop()
        },
        onArrayBegin(offset) {
          enter(offset)
        },
        onArrayEnd() {
          depth -= 1
        },
        onObjectProperty(name, offset) {
          const seen = members.at(-1)
          if (seen?.has(name))
            throw new Found({
              kind: 'duplicate_member',
              message: `member \`${name}\` stands twice`,
              offset,
              member: name,
            })
          seen?.add(name)
        },
      },
      { disallowComments: true },
    )
  } catch (error) {
    if (error instanceof Found) return error.problem
    throw error
  }
  return null
}
