import {
  countJson,
  parseJson,
  parseLargeJson,
  type JsonProblem,
  type TooMuchJson,
} from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { ApiError, invalidArgument } from '../../platform/api-error.ts'
import { describeIssue, quote, shorten } from '../input/describe-issue.ts'
import { createTurnEnds } from '../../platform/next-turn.ts'
import type { RawBody } from './raw-body.ts'

/**
 * JSON values of a body: more than any policy within the limits holds. A schema checks every
 * element of an array before it refuses the first, so a longer one would block the event loop.
 */
const MAX_VALUES = 100_000
/** A body up to this size parses within some milliseconds and cannot exceed `MAX_VALUES`. */
const MAX_BYTES_AT_ONCE = MAX_VALUES
/** Members of one object; schemas have at most twenty. Large objects are slow to build in V8. */
const MAX_MEMBERS = 1000
/** Bytes of one policy in a document: ten times the default limit of a policy. */
const MAX_BYTES_OF_PART = 4 * 1024 * 1024
const BOM = [0xef, 0xbb, 0xbf]

/** Shared, because it holds no state between complete texts. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a body as JSON. Throws an ApiError: 415, then 413, then 400. */
export function readJson(body: RawBody): unknown {
  requireJson(body)
  if (body.bytes.length > MAX_BYTES_AT_ONCE) requireSmallJson(body.bytes)
  const result = parseJson(decodeUtf8(body.bytes))
  if (!result.ok) throw invalidJson(result.problem)
  return result.value
}

/**
 * Like `readJson`, for a body of many megabytes, which is parsed in parts. The body may hold
 * `maxValues`, and each element of an array in its outermost object `MAX_VALUES`.
 */
export async function readLargeJson(body: RawBody, maxValues: number): Promise<unknown> {
  if (body.bytes.length <= MAX_BYTES_AT_ONCE) return readJson(body)
  requireJson(body)
  requireUtf8(body.bytes)
  const result = await parseLargeJson(body.bytes, {
    maxValues,
    maxValuesOfPart: MAX_VALUES,
    maxBytesOfPart: MAX_BYTES_OF_PART,
    maxMembers: MAX_MEMBERS,
    allocate: (size) => Buffer.allocUnsafe(size),
    decode: (bytes) => UTF8.decode(bytes),
    pause: createTurnEnds(),
  })
  if (result.ok) return result.value
  throw 'most' in result.problem ? tooMuchJson(result.problem) : invalidJson(result.problem)
}

function requireSmallJson(bytes: Uint8Array): void {
  const { values, members } = countJson(bytes)
  if (values > MAX_VALUES) throw tooMuchJson({ kind: 'too_many_values', most: MAX_VALUES })
  if (members > MAX_MEMBERS) throw tooMuchJson({ kind: 'too_many_members', most: MAX_MEMBERS })
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

function tooMuchJson({ kind, most, place }: TooMuchJson): ApiError {
  const rule = {
    too_many_values: `must hold at most ${most} values`,
    too_many_bytes: `must hold at most ${most} bytes without white space`,
    too_many_members: `must have at most ${most} members in one object`,
  }[kind]
  if (place === undefined) return invalidArgument(`the body ${rule}`)
  return invalidArgument(`\`${shorten(place)}\` ${rule}`, { field: shorten(place) })
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

function decodeUtf8(bytes: Uint8Array): string {
  requireUtf8(bytes)
  const text = UTF8.decode(bytes)
  if (text.trim() === '') throw invalidArgument('the body is empty; send a JSON object')
  return text
}

function requireUtf8(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw invalidArgument('the body is not valid UTF-8')
  // RFC 8259 §8.1 forbids a BOM, and parsers disagree on skipping it.
  if (BOM.every((byte, index) => bytes[index] === byte))
    throw invalidArgument('the body must not start with a BOM')
}

function invalidJson(problem: JsonProblem): ApiError {
  if (problem.member === undefined)
    return invalidArgument(`the body is not acceptable JSON: ${problem.message}`)
  return invalidArgument(`member ${quote(problem.member)} is repeated`, {
    field: shorten(problem.member),
  })
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
