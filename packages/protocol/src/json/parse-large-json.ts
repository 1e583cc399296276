import { MAX_DEPTH, parseJson, seekJsonProblem, type JsonResult } from './parse-json.ts'
import { splitJson, type JsonPart } from './split-json.ts'

/** How deep a part of a text stands in it. */
const PART_DEPTH = 2
/** Parsed between two turns, beside the last part. */
const BYTES_A_TURN = 32 * 1024

export interface LargeJsonOptions {
  /** In the whole text. */
  readonly maxValues: number
  /** In one element of an array of the outermost object, and outside of all of these. */
  readonly maxValuesOfPart: number
  /** From UTF-8, keeping a byte order mark. */
  readonly decode: (bytes: Uint8Array) => string
  /** Lets others run; awaited between pieces of some milliseconds. */
  readonly pause: () => Promise<void>
}

export type LargeJsonResult = JsonResult | { readonly ok: false; readonly problem: TooManyValues }

export interface TooManyValues {
  readonly kind: 'too_many_values'
  /** The limit that the text passes. */
  readonly maxValues: number
  /** The part that has them, such as `policies[2]`; absent for the text. */
  readonly place?: string
}

/**
 * The result of `parseJson` for a large text in valid UTF-8, piece by piece: elements of arrays of
 * the outermost object are parsed each by itself.
 */
export async function parseLargeJson(
  bytes: Uint8Array,
  { maxValues, maxValuesOfPart, decode, pause }: LargeJsonOptions,
): Promise<LargeJsonResult> {
  const split = await inTurns(splitJson(bytes, maxValues), pause)
  if (split === null || split.values > maxValues) return tooMany(maxValues)
  const inParts = split.parts.reduce((sum, { values }) => sum + values, 0)
  if (split.values - inParts > maxValuesOfPart) return tooMany(maxValuesOfPart)
  const frame = parseJson(decode(split.frame))
  const dense = split.parts.findIndex(({ values }) => values > maxValuesOfPart)
  if (frame.ok && dense >= 0) return tooMany(maxValuesOfPart, placeOf(frame.value, dense))
  const textOf = ({ start, end }: JsonPart) => decode(split.packed.subarray(start, end))
  const values = frame.ok ? await inTurns(parseParts(split.parts, textOf), pause) : null
  if (frame.ok && values !== null) return { ok: true, value: fill(frame.value, values) }
  const problem = await inTurns(seekJsonProblem(decode(bytes)), pause)
  return { ok: false, problem }
}

function tooMany(maxValues: number, place?: string): LargeJsonResult {
  const problem = { kind: 'too_many_values' as const, maxValues }
  return { ok: false, problem: place === undefined ? problem : { ...problem, place } }
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

/** Null when one of them is refused. */
function* parseParts(
  parts: readonly JsonPart[],
  textOf: (part: JsonPart) => string,
): Generator<void, unknown[] | null> {
  const values: unknown[] = []
  let turnStart = 0
  for (const part of parts) {
    const parsed = parseJson(textOf(part), MAX_DEPTH - PART_DEPTH)
    if (!parsed.ok) return null
    values.push(parsed.value)
    if (part.end - turnStart < BYTES_A_TURN) continue
    turnStart = part.end
    yield
  }
  return values
}

/** Puts the parts in the places that the frame has their numbers in. */
function fill(frame: unknown, parts: readonly unknown[]): unknown {
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) return frame
  for (const member of Object.values(frame))
    if (Array.isArray(member))
      for (const [index, number] of member.entries()) member[index] = parts[Number(number)]
  return frame
}
