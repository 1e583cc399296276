import { exchangeError, readAnswer, sendToAgent, type AgentRequest } from './agent-exchange.ts'
import { unexpected } from '../client-error.ts'
import { requireSuccess } from './require-success.ts'

export interface LinesRequest extends Pick<AgentRequest, 'address' | 'path'> {
  /** Longest silence in milliseconds; with `isEndless`, only until the head of the answer. */
  readonly timeoutMs: number
  /** Whether the answer may pause for any time. */
  readonly isEndless: boolean
  /** Ends the lines without an error. */
  readonly signal?: AbortSignal | undefined
}

/** Above any rule: a whole policy has at most 400 KB. */
const MAX_LINE = 1024 * 1024

/**
 * Sends a GET request to the agent and returns the lines of its answer as they
 * come, without their line feeds. Throws `ClientError`.
 */
export async function* agentLines(request: LinesRequest): AsyncGenerator<string> {
  const { timeoutMs, isEndless, signal: given } = request
  const late = new AbortController()
  const signal = given === undefined ? late.signal : AbortSignal.any([late.signal, given])
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    const response = await sendToAgent({ ...request, method: 'GET' }, signal)
    const { statusCode: status = 0 } = response
    if (status !== 200) requireSuccess({ status, text: await readAnswer(response) })
    if (isEndless) clearTimeout(timer)
    yield* splitText(response as AsyncIterable<Buffer>, () => !isEndless && timer.refresh())
  } catch (error) {
    if (given?.aborted === true) return
    throw exchangeError(error, request, late.signal.aborted)
  } finally {
    clearTimeout(timer)
  }
}

async function* splitText(
  chunks: AsyncIterable<Buffer>,
  onChunk: () => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    onChunk()
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE) throw unexpected(`a line is longer than ${MAX_LINE} characters`)
    yield* lines
  }
  if (rest !== '') throw unexpected('its last line breaks off')
}
