import { countJsonValues, parseJson, parseLargeJson, type JsonProblem } from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { ApiError, invalidArgument } from './api-error.ts'
import { describeIssue, quote, shorten } from './describe-issue.ts'
import { nextTurn } from '../next-turn.ts'
import { isJsonMediaType } from './media-type.ts'
import type { RawBody } from './raw-body.ts'

/**
 * More than any policy within the limits holds. A schema looks at every element of an array before
 * it refuses the first: half a million bad ones held the event loop for two seconds.
 */
const MAX_VALUES = 100_000
/** Parsed within some milliseconds, and holds no more than `MAX_VALUES`. */
const MAX_BYTES_AT_ONCE = MAX_VALUES
const BOM = [0xef, 0xbb, 0xbf]

/** Keeps nothing between two texts. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a body as JSON: 415, then 413, then 400, always an ApiError. */
export function readJson(body: RawBody): unknown {
  requireJson(body)
  // A value takes a byte at least.
  if (body.bytes.length > MAX_VALUES && countJsonValues(body.bytes) > MAX_VALUES)
    throw tooManyValues(MAX_VALUES)
  const result = parseJson(decodeUtf8(body.bytes))
  if (!result.ok) throw invalidJson(result.problem)
  return result.value
}

/**
 * The same for a body of many megabytes, piece by piece: it may hold `maxValues`, and each element
 * of an array of its outermost object `MAX_VALUES`.
 */
export async function readLargeJson(body: RawBody, maxValues: number): Promise<unknown> {
  if (body.bytes.length <= MAX_BYTES_AT_ONCE) return readJson(body)
  requireJson(body)
  requireUtf8(body.bytes)
  const result = await parseLargeJson(body.bytes, {
    maxValues,
    maxValuesOfPart: MAX_VALUES,
    decode: (bytes) => UTF8.decode(bytes),
    pause: nextTurn,
  })
  if (result.ok) return result.value
  if (result.problem.kind !== 'too_many_values') throw invalidJson(result.problem)
  const { maxValues: most, place } = result.problem
  if (place === undefined) throw tooManyValues(most)
  throw invalidArgument(`\`${shorten(place)}\` must hold at most ${most} values`, {
    field: shorten(place),
  })
}

function requireJson(body: RawBody): void {
  if (body.contentType === undefined)
    throw new ApiError(415, 'invalid_argument', 'send `Content-Type: application/json`')
  if (!isJsonMediaType(body.contentType))
    throw new ApiError(
      415,
      'invalid_argument',
      `the media type ${quote(body.contentType)} is not supported; send \`application/json\``,
    )
  if (body.contentEncoding !== undefined && body.contentEncoding.toLowerCase() !== 'identity')
    throw new ApiError(415, 'invalid_argument', 'send the body without a content encoding')
  if (body.tooLarge)
    throw new ApiError(413, 'invalid_argument', `the body must be at most ${body.maxBytes} bytes`)
}

function tooManyValues(maxValues: number): ApiError {
  return invalidArgument(`the body must hold at most ${maxValues} values`)
}

/** Throws 400 for a part of a body that a schema would take too long to judge. */
export function requireFewValues(value: unknown): void {
  if (countValues(value) > MAX_VALUES)
    throw invalidArgument(`must hold at most ${MAX_VALUES} values`)
}

/** Judges a JSON value against a schema; throws 400 that names the first member at fault. */
export function readInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  const [issue] = result.error.issues
  if (issue === undefined) throw invalidArgument('the body is invalid')
  const { message, field } = describeIssue(issue)
  throw invalidArgument(message, { field })
}

/** The value of a body that must be JSON and satisfy `schema`. */
export function readBody<S extends z.ZodType>(schema: S, body: RawBody): z.output<S> {
  return readInput(schema, readJson(body))
}

/** Depth is bounded by `parseJson`. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 1)
}

function decodeUtf8(bytes: Uint8Array): string {
  requireUtf8(bytes)
  const text = UTF8.decode(bytes)
  if (text.trim() === '') throw invalidArgument('the body is empty; send a JSON object')
  return text
}

function requireUtf8(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw invalidArgument('the body is not valid UTF-8')
  // RFC 8259 §8.1 forbids it, and readers differ in whether they skip it.
  if (BOM.every((byte, index) => bytes[index] === byte))
    throw invalidArgument('the body must not start with a BOM')
}

function invalidJson(problem: JsonProblem): ApiError {
  if (problem.member === undefined)
    return invalidArgument(`the body is not usable: ${problem.message}`)
  return invalidArgument(`member ${quote(problem.member)} stands twice`, {
    field: shorten(problem.member),
  })
}
