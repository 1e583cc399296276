import { MAX_BATCH_LINES, NDJSON, parseJson } from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ListedDecision } from '../policy/decision/listed-rules.ts'
import { awaitDrained } from '../http/await-flushed.ts'
import type { LoopTurns } from '../http/loop-turns.ts'
import { MAX_BODY_BYTES, type RequestBody } from './read-request.ts'

const LINE_FEED = 0x0a

/** Longest text that is built before it is written. */
const MAX_BLOCK_LENGTH = 64 * 1024

/** Whether a request for a decision carries many, by its media type. */
export function isBatch({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const type = headers['content-type']
  return type !== undefined && type.split(';', 1)[0]?.trim().toLowerCase() === NDJSON
}

/** The lines of a batch without their line feeds, at most `MAX_BATCH_LINES`. */
export function splitBatch(bytes: Buffer): RequestBody<readonly Buffer[]> {
  const lines: Buffer[] = []
  for (let start = 0; start < bytes.byteLength;) {
    if (lines.length === MAX_BATCH_LINES) return tooManyLines()
    const feed = bytes.indexOf(LINE_FEED, start)
    const end = feed < 0 ? bytes.byteLength : feed
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return { ok: true, value: lines }
}

function tooManyLines(): RequestBody<never> {
  const message = `a batch has at most ${MAX_BATCH_LINES} lines; send the others in another batch`
  return { ok: false, refusal: { status: 400, code: 'invalid_argument', message } }
}

/**
 * Answers line N with the decision on line N. Gives up the turn of the event loop whenever its time
 * is over, and waits while the caller does not read. Stops when the caller has hung up.
 */
export async function answerBatch(
  deps: {
    readonly decide: (request: unknown) => ListedDecision
    readonly turns: LoopTurns
    /** Milliseconds that a caller may leave an answer unread. */
    readonly flushTimeoutMs: number
  },
  lines: readonly Buffer[],
  response: ServerResponse,
): Promise<void> {
  const { decide, turns, flushTimeoutMs } = deps
  response.setHeader('content-type', NDJSON)
  response.setHeader('cache-control', 'no-store')
  let block = ''
  for (const line of lines) {
    if (!turns.hasTime()) await new Promise<void>((resolve) => turns.later(resolve))
    if (response.destroyed) return
    block += `${JSON.stringify(decide(parseLine(line)))}\n`
    if (block.length < MAX_BLOCK_LENGTH) continue
    if (!response.write(block)) await awaitDrained(response, flushTimeoutMs)
    block = ''
  }
  // With the whole answer in one block, `end` sends its length.
  response.end(block)
}

/** Returns null, an invalid request, for a line that is not the JSON of one value. */
function parseLine(line: Buffer): unknown {
  if (line.byteLength > MAX_BODY_BYTES || !isUtf8(line)) return null
  const json = parseJson(line.toString('utf8'))
  return json.ok ? json.value : null
}
