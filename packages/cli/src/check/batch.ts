import { splitLines, type Line } from '@palisade/client'
import { MAX_BATCH_LINES, parseJson } from '@palisade/protocol'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { resolveFile, unreadable } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { describeSystemError } from '../runtime/system-error.ts'
import { tellTyping } from '../runtime/waiting.ts'
import { write } from '../runtime/write.ts'
import { jsonLine } from '../terminal/printable.ts'
import type { DecisionAnswer, Evaluator } from './answer.ts'

/** The limit of the agent for a request, in a batch and alone. */
export const MAX_LINE_BYTES = 64 * 1024

/** The answers to a chunk of blank lines are a hundred times its size. */
const MAX_BLOCK_LENGTH = 256 * 1024

/**
 * Answers every line of `requests` (a file, or `-` for standard input) with one line, in order. A
 * blank, oversized or malformed line is answered as an invalid request, so that line N answers line
 * N. Ends without an error when the reader of the answers has gone.
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

/** Resolves to false if the reader has gone. Each batch is written before the next is decided. */
async function answerLines(io: Io, evaluator: Evaluator, lines: readonly Line[]): Promise<boolean> {
  for (let start = 0; start < lines.length; start += MAX_BATCH_LINES) {
    const batch = lines.slice(start, start + MAX_BATCH_LINES)
    if (!(await writeAnswers(io, await evaluator.decideMany(batch.map(parseRequest))))) return false
  }
  return true
}

async function writeAnswers(io: Io, answers: readonly DecisionAnswer[]): Promise<boolean> {
  let block = ''
  for (const answer of answers) {
    block += jsonLine(answer)
    if (block.length < MAX_BLOCK_LENGTH) continue
    if (!(await write(io.stdout, block))) return false
    block = ''
  }
  return block === '' || write(io.stdout, block)
}

function openRequests(io: Io, requests: string): Readable {
  if (requests === '-') {
    tellTyping(io, 'requests from the terminal, one JSON object a line')
    return io.stdin
  }
  return createReadStream(resolveFile(io, requests))
}

/** Adds the name of the input to read failures, and to no other failure. */
async function* readChunks(source: Readable, requests: string): AsyncGenerator<Buffer | string> {
  try {
    yield* source as AsyncIterable<Buffer | string>
  } catch (error) {
    throw unreadable(requests, describeSystemError(error), error)
  }
}

/** Returns null, an invalid request, for a line that is not the JSON of one value. */
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
