import { parseJson } from '@palisade/protocol'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { resolveFile, unreadable } from '../file-argument.ts'
import type { Io } from '../io.ts'
import { describeSystemError } from '../system-error.ts'
import { jsonLine } from '../terminal/printable.ts'
import { write } from '../terminal/write.ts'
import type { Evaluator } from './answer.ts'
import { splitLines, type Line } from './split-lines.ts'

/** A path of 4096 bytes with every byte written as `\u00xx` fits with room to spare. */
export const MAX_LINE_BYTES = 32 * 1024

/** A chunk of blank lines grows a hundredfold when it is answered. */
const MAX_BLOCK_LENGTH = 256 * 1024

/**
 * Answers every line of `requests` (a file, or `-` for standard input) with one line, in order.
 * Line N answers line N: a blank, over-long or broken line is answered as an invalid request.
 * Ends quietly when the reader of the answers has gone.
 */
export async function runBatch(io: Io, evaluator: Evaluator, requests: string): Promise<void> {
  const source = openRequests(io, requests)
  try {
    for await (const lines of splitLines(readChunks(source, requests), MAX_LINE_BYTES)) {
      if (!(await answerLines(io, evaluator, lines))) return
    }
  } finally {
    source.destroy()
  }
}

/** False when the reader has gone. Answers in hand are written also when the evaluator fails. */
async function answerLines(io: Io, evaluator: Evaluator, lines: readonly Line[]): Promise<boolean> {
  let block = ''
  let open = true
  try {
    for (const line of lines) {
      block += jsonLine(await evaluator.decide(parseRequest(line)))
      if (block.length < MAX_BLOCK_LENGTH) continue
      open = await write(io.stdout, block)
      block = ''
      if (!open) return false
    }
  } finally {
    if (block !== '') open = await write(io.stdout, block)
  }
  return open
}

function openRequests(io: Io, requests: string): Readable {
  if (requests === '-') return io.stdin
  return createReadStream(resolveFile(io, requests))
}

/** Names the input in its failures, and only in its own. */
async function* readChunks(source: Readable, requests: string): AsyncGenerator<Buffer | string> {
  try {
    yield* source as AsyncIterable<Buffer | string>
  } catch (error) {
    throw unreadable(requests, describeSystemError(error), error)
  }
}

/** Null, which is no request, for everything that is not the JSON of one value. */
function parseRequest(line: Line): unknown {
  if (line === null) return null
  try {
    // `ignoreBOM` means "do not strip": a byte order mark makes the line invalid.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line)
    const json = parseJson(text)
    return json.ok ? json.value : null
  } catch {
    return null
  }
}
