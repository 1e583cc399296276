import { parseJson, parseJsonInSteps, type JsonProblem, type JsonResult } from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { ApiError, invalidArgument } from '../../platform/api-error.ts'
import { describeIssue, quote, shorten } from '../input/describe-issue.ts'
import type { Work } from '../../work/work-budget.ts'
import type { RawBody } from './raw-body.ts'

/**
 * JSON values of a body: more than any policy within the limits holds. A schema checks every
 * element of an array before it refuses the first, so a longer one would block the event loop.
 */
const MAX_VALUES = 100_000
/** Different lists of member names in a body; schemas have some twenty names in all. */
const MAX_SHAPES = 1000
/** A body up to this size parses within some milliseconds. */
const MAX_BYTES_AT_ONCE = 100_000
const BOM = [0xef, 0xbb, 0xbf]

/** Shared, because it holds no state between complete texts. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a body as JSON. Throws an ApiError: 415, then 413, then 400. */
export function readJson(body: RawBody): unknown {
  return valueOf(parseJson(readText(body), { maxValues: MAX_VALUES, maxShapes: MAX_SHAPES }))
}

/**
 * Like `readJson`, with turns of other requests in between, for a body of some megabytes. Charges
 * all of its time. `advice` follows the message for a body that is too large.
 */
export async function readLargeJson(
  body: RawBody,
  { maxValues, advice }: { readonly maxValues: number; readonly advice?: string },
  work: Pick<Work, 'run' | 'turn'>,
): Promise<unknown> {
  if (advice !== undefined && body.tooLarge) requireJson(body, `; ${advice}`)
  if (body.bytes.length <= MAX_BYTES_AT_ONCE) return work.run(() => readJson(body))
  const text = work.run(() => readText(body))
  const steps = parseJsonInSteps(text, { maxValues, maxShapes: MAX_SHAPES })
  for (;;) {
    await work.turn()
    const step = work.run(() => steps.next())
    if (step.done === true) return valueOf(step.value)
  }
}

function valueOf(result: JsonResult): unknown {
  if (result.ok) return result.value
  throw invalidJson(result.problem)
}

function requireJson(body: RawBody, advice = ''): void {
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
    throw new ApiError(
      413,
      'invalid_argument',
      `the body must be at most ${body.maxBytes} bytes${advice}`,
    )
}

/** Throws 400 for a part of a body that a schema would take too long to check. */
export function requireFewValues(value: unknown): void {
  if (countValues(value) > MAX_VALUES)
    throw invalidArgument(`must hold at most ${MAX_VALUES} values`)
}

/** Parses a JSON value with a schema. Throws 400 that names the first invalid member. */
export function readInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  throw refusalOf(result.error.issues)
}

/** Converts the first issue of a schema to a refusal. */
export function refusalOf([issue]: readonly z.core.$ZodIssue[]): ApiError {
  if (issue === undefined) return invalidArgument('the body is invalid')
  const { message, field } = describeIssue(issue)
  return invalidArgument(message, { field })
}

/** Parses a JSON body with a schema. Throws the errors of `readJson` and `readInput`. */
export function readBody<S extends z.ZodType>(schema: S, body: RawBody): z.output<S> {
  return readInput(schema, readJson(body))
}

/** Recursion is safe, because `parseJson` bounds the depth. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 1)
}

function readText(body: RawBody): string {
  requireJson(body)
  requireUtf8(body.bytes)
  const text = UTF8.decode(body.bytes)
  if (text.trim() === '') throw invalidArgument('the body is empty; send a JSON object')
  return text
}

function requireUtf8(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw invalidArgument('the body is not valid UTF-8')
  // RFC 8259 §8.1 forbids a BOM, and parsers disagree on skipping it.
  if (BOM.every((byte, index) => bytes[index] === byte))
    throw invalidArgument('the body must not start with a BOM')
}

function invalidJson({ member, message }: JsonProblem): ApiError {
  if (member === undefined) return invalidArgument(`the body is not acceptable JSON: ${message}`)
  return invalidArgument(`member ${quote(member)} is repeated`, { field: shorten(member) })
}

/**
 * Tells whether a `Content-Type` value is `application/json` in UTF-8 (RFC 8259 §8.1). Parameters
 * other than `charset` have no meaning for JSON and are ignored.
 */
function isJsonMediaType(contentType: string): boolean {
  // Fast path for the common form.
  if (contentType === 'application/json') return true
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return false
  return parameters.every(
    (parameter) =>
      !/^charset\s*=/.test(parameter) || /^charset\s*=\s*(?:utf-8|"utf-8")$/.test(parameter),
  )
}
