import { countJsonValues, parseJson, type JsonProblem } from '@palisade/protocol'
import type { z } from 'zod'
import { ApiError, invalidArgument } from './api-error.ts'
import { describeIssue, quote, shorten } from './describe-issue.ts'
import { isJsonMediaType } from './media-type.ts'
import type { RawBody } from './raw-body.ts'

/**
 * More than any policy within the limits holds. A schema looks at every element of an array before
 * it refuses the first: half a million bad ones held the event loop for two seconds.
 */
const MAX_VALUES = 100_000

/** Keeps nothing between two texts. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Judges a body as JSON: 415, then 413, then 400, always an ApiError. Whoever allows more than
 * `MAX_VALUES` judges them in parts, by `requireFewValues` and a schema each.
 */
export function readJson(body: RawBody, maxValues = MAX_VALUES): unknown {
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
  // A value takes a byte at least.
  if (body.bytes.length > maxValues && countJsonValues(body.bytes) > maxValues)
    throw invalidArgument(`the body must hold at most ${maxValues} values`)
  const result = parseJson(decodeUtf8(body.bytes))
  if (!result.ok) throw invalidJson(result.problem)
  return result.value
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
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch {
    throw invalidArgument('the body is not valid UTF-8')
  }
  // RFC 8259 §8.1 forbids it, and readers differ in whether they skip it.
  if (text.startsWith('\uFEFF')) throw invalidArgument('the body must not start with a BOM')
  if (text.trim() === '') throw invalidArgument('the body is empty; send a JSON object')
  return text
}

function invalidJson(problem: JsonProblem): ApiError {
  if (problem.member === undefined)
    return invalidArgument(`the body is not usable: ${problem.message}`)
  return invalidArgument(`member ${quote(problem.member)} stands twice`, {
    field: shorten(problem.member),
  })
}
