import {
  MAX_UPLOAD_LINE,
  MAX_UPLOAD_LINES,
  MAX_UPLOAD_TEXT_BYTES,
  UPLOAD_TYPE,
  batchHeaderSchema,
  batchLineSchema,
  parseJson,
  type BatchLine,
} from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { z } from 'zod'
import type { RawBody } from '../../http/body/raw-body.ts'
import { describeIssue, quote } from '../../http/input/describe-issue.ts'
import { ApiError, invalidArgument } from '../../platform/api-error.ts'
import { createTurnEnds } from '../../platform/next-turn.ts'
import type { ReadBatch } from './check-chain.ts'

const unpack = promisify(gunzip)
const LEAST_CHUNK_BYTES = 16 * 1024
const MOST_CHUNK_BYTES = 256 * 1024

/**
 * Reads the body of an upload. Throws ApiError: 415 for another type or encoding, 413 for a body
 * that is too large, packed or unpacked, and 400 that names the line at fault.
 */
export async function readBatch(body: RawBody): Promise<ReadBatch> {
  const texts = linesOf(await readText(body))
  const header = parseLine(() => batchHeaderSchema, texts.next().value ?? '', 1)
  const pause = createTurnEnds()
  const lines: BatchLine[] = []
  let seq = header.first - 1
  for (const each of texts) {
    if (lines.length === MAX_UPLOAD_LINES)
      throw invalidArgument(`a batch must have at most ${MAX_UPLOAD_LINES} lines after its header`)
    const number = lines.length + 2
    const line = parseLine(schemaOfLine, each, number)
    if (line.seq <= seq) throw atLine(number, '`seq` must be higher than that of the line before')
    seq = line.seq
    lines.push(line)
    await pause()
  }
  const [first, ...rest] = lines
  if (first === undefined) throw invalidArgument('a batch must have a line after its header')
  return { header, lines: [first, ...rest] }
}

/** The unpacked text, which is valid UTF-8. */
async function readText(body: RawBody): Promise<Buffer> {
  requireType(body.contentType)
  const encoding = (body.contentEncoding ?? 'identity').toLowerCase()
  if (encoding !== 'gzip' && encoding !== 'identity')
    throw new ApiError(415, 'invalid_argument', 'send the body with `Content-Encoding: gzip`')
  if (body.tooLarge) throw tooLarge(`the body must be at most ${body.maxBytes} bytes`)
  const bytes = encoding === 'gzip' ? await unpackBounded(body.bytes) : body.bytes
  if (!isUtf8(bytes)) throw invalidArgument('the body is not valid UTF-8')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const LINE_FEED = 10

/**
 * The lines of a text, whose last one may end without a line feed. Short strings take memory that
 * the process has; one of the whole text takes new pages each time.
 *
 * bench: evidence/ingest
 */
function* linesOf(text: Buffer): Generator<string, undefined, undefined> {
  let start = 0
  while (start < text.length) {
    const end = text.indexOf(LINE_FEED, start)
    yield text.toString('utf8', start, end === -1 ? text.length : end)
    start = end === -1 ? text.length : end + 1
  }
}

function requireType(contentType: string | undefined): void {
  const [type = ''] = (contentType ?? '').split(';')
  if (type.trim().toLowerCase() === UPLOAD_TYPE) return
  const sent =
    contentType === undefined ? '' : `the media type ${quote(contentType)} is not supported; `
  throw new ApiError(415, 'invalid_argument', `${sent}send \`Content-Type: ${UPLOAD_TYPE}\``)
}

/**
 * A megabyte of gzip may hold a gigabyte of zeros: unpacking stops at the limit. Each chunk is a
 * journey to another thread, so a large text has large ones.
 *
 * bench: evidence/ingest
 */
async function unpackBounded(bytes: Uint8Array): Promise<Uint8Array> {
  const chunkSize = Math.min(Math.max(LEAST_CHUNK_BYTES, bytes.length * 4), MOST_CHUNK_BYTES)
  try {
    return await unpack(bytes, { maxOutputLength: MAX_UPLOAD_TEXT_BYTES, chunkSize })
  } catch (error) {
    if (error instanceof RangeError)
      throw tooLarge(`the text must be at most ${MAX_UPLOAD_TEXT_BYTES} bytes once it is unpacked`)
    throw invalidArgument('the body is not valid gzip')
  }
}

function tooLarge(message: string): ApiError {
  return new ApiError(413, 'invalid_argument', message)
}

function parseLine<S extends z.ZodType>(
  schemaOf: (value: unknown) => S,
  text: string,
  number: number,
): z.output<S> {
  const value = parseJsonOf(text, number)
  const result = schemaOf(value).safeParse(value, { reportInput: true })
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw atLine(number, issue === undefined ? 'is invalid' : describeIssue(issue).message)
}

/** One kind of line, so that a refusal names its member and not the choice of kinds. */
function schemaOfLine(value: unknown): (typeof batchLineSchema.options)[number] {
  const [record, loss, leftOut] = batchLineSchema.options
  if (typeof value !== 'object' || value === null || 'record' in value) return record
  return 'lost' in value ? loss : leftOut
}

/** A line is parsed in one turn of the event loop, so its length bounds how long others wait. */
function parseJsonOf(text: string, number: number): unknown {
  if (text.length > MAX_UPLOAD_LINE)
    throw atLine(number, `must have at most ${MAX_UPLOAD_LINE} characters`)
  const json = parseJson(text)
  if (json.ok) return json.value
  throw atLine(number, json.problem.kind === 'syntax' ? 'is not JSON' : json.problem.message)
}

function atLine(number: number, message: string): ApiError {
  return invalidArgument(`line ${number}: ${message}`, { field: `line ${number}` })
}
