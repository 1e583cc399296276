import { MAX_DEPTH, parseJson, seekJsonProblem, type JsonResult } from './parse-json.ts'
import { splitJson, type JsonPart, type SplitJson } from './split-json.ts'

/** Depth of a part in the text. */
const PART_DEPTH = 2
/** Parsed between two turns, beside the last part. */
const BYTES_A_TURN = 32 * 1024
/** Fixed cost of a part, in bytes. */
const BYTES_OF_PART = 128

/** Bounds of one piece that is parsed at once. */
export interface LargeJsonOptions {
  /** In the whole text. */
  readonly maxValues: number
  /** In one element of an array of the outermost object, and outside of all of these. */
  readonly maxValuesOfPart: number
  /** Of the same, without white space beyond one blank. */
  readonly maxBytesOfPart: number
  /** In one object. */
  readonly maxMembers: number
  /** Allocates uninitialized memory, because clearing 16 MiB blocks too long. */
  readonly allocate: (bytes: number) => Uint8Array
  /** From UTF-8, keeping a byte order mark. */
  readonly decode: (bytes: Uint8Array) => string
  /** Lets other tasks run if needed; awaited between pieces of at most a few milliseconds. */
  readonly pause: () => Promise<void>
}

export type LargeJsonResult = JsonResult | { readonly ok: false; readonly problem: TooMuchJson }

export interface TooMuchJson {
  readonly kind: 'too_many_values' | 'too_many_bytes' | 'too_many_members'
  /** The exceeded limit. */
  readonly most: number
  /** The part that exceeds it, such as `policies[2]`; absent for the whole text. */
  readonly place?: string
}

/**
 * The result of `parseJson` for a large text in valid UTF-8, piece by piece: elements of arrays of
 * the outermost object are parsed each by itself.
 */
export async function parseLargeJson(
  bytes: Uint8Array,
  options: LargeJsonOptions,
): Promise<LargeJsonResult> {
  const { maxValues, allocate, decode, pause } = options
  const limits = { maxValues, maxBytesOfFrame: options.maxBytesOfPart, allocate }
  const split = await inTurns(splitJson(bytes, limits), pause)
  if (split === null) return tooMuch({ kind: 'too_many_values', most: maxValues })
  const excess = excessOfText(split, options)
  if (excess !== null) return tooMuch(excess)
  const frame = parseJson(decode(split.frame))
  await pause()
  const dense = frame.ok ? findDense(split.parts, options) : null
  if (frame.ok && dense !== null)
    return tooMuch({ ...dense.excess, place: placeOf(frame.value, dense.index) })
  const textOf = ({ start, end }: JsonPart) => decode(split.packed.subarray(start, end))
  const values = frame.ok ? await inTurns(parseParts(split.parts, textOf), pause) : null
  if (frame.ok && values !== null) return { ok: true, value: fill(frame.value, values) }
  const problem = await inTurns(seekJsonProblem(decode(bytes)), pause)
  return { ok: false, problem }
}

type Limits = Pick<LargeJsonOptions, 'maxValuesOfPart' | 'maxBytesOfPart' | 'maxMembers'>

/** Of the whole text and of its frame, in which the number of each part is a value. */
function excessOfText(
  { parts, values, frame, members }: SplitJson,
  options: LargeJsonOptions,
): TooMuchJson | null {
  if (values > options.maxValues) return { kind: 'too_many_values', most: options.maxValues }
  const inParts = parts.reduce((sum, part) => sum + part.values - 1, 0)
  return excessOf({ values: values - inParts, bytes: frame.length, members }, options)
}

function findDense(
  parts: readonly JsonPart[],
  limits: Limits,
): { readonly index: number; readonly excess: TooMuchJson } | null {
  for (const [index, { start, end, values, members }] of parts.entries()) {
    const excess = excessOf({ values, bytes: end - start, members }, limits)
    if (excess !== null) return { index, excess }
  }
  return null
}

function excessOf(
  piece: { readonly values: number; readonly bytes: number; readonly members: number },
  { maxValuesOfPart, maxBytesOfPart, maxMembers }: Limits,
): TooMuchJson | null {
  if (piece.values > maxValuesOfPart) return { kind: 'too_many_values', most: maxValuesOfPart }
  if (piece.bytes > maxBytesOfPart) return { kind: 'too_many_bytes', most: maxBytesOfPart }
  if (piece.members > maxMembers) return { kind: 'too_many_members', most: maxMembers }
  return null
}

function tooMuch(problem: TooMuchJson): LargeJsonResult {
  return { ok: false, problem }
}

/** Of a part, by its number in the frame. */
function placeOf(frame: unknown, part: number): string {
  for (const [name, member] of Object.entries(Object(frame)))
    if (Array.isArray(member) && member.includes(part)) return `${name}[${member.indexOf(part)}]`
  throw new TypeError('a part has no place in its frame')
}

async function inTurns<T>(steps: Generator<void, T>, pause: () => Promise<void>): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value
    await pause()
  }
}

/** Returns null when a part is refused. */
function* parseParts(
  parts: readonly JsonPart[],
  textOf: (part: JsonPart) => string,
): Generator<void, unknown[] | null> {
  const values: unknown[] = []
  let spentBytes = 0
  for (const part of parts) {
    const text = textOf(part)
    // Decoding a long text takes as long as parsing it.
    if (text.length > BYTES_A_TURN) yield
    const parsed = parseJson(text, MAX_DEPTH - PART_DEPTH)
    if (!parsed.ok) return null
    values.push(parsed.value)
    spentBytes += part.end - part.start + BYTES_OF_PART
    if (spentBytes < BYTES_A_TURN) continue
    spentBytes = 0
    yield
  }
  return values
}

/** Replaces the numbers in the frame by the parts. */
function fill(frame: unknown, parts: readonly unknown[]): unknown {
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) return frame
  for (const member of Object.values(frame))
    if (Array.isArray(member))
      for (const [index, number] of member.entries()) member[index] = parts[Number(number)]
  return frame
}
