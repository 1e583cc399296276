import { request as httpRequest, type IncomingMessage } from 'node:http'
import { readBoundedBody } from '../bounded-body.ts'
import { ClientError } from '../client-error.ts'
import { parseFailure, unexpected } from '../parse-answer.ts'
import { splitLines, type Line } from '../split-lines.ts'

const MAX_ANSWER_BYTES = 8 * 1024 * 1024
/** Above any rule: a whole policy has at most 400 KB. */
const MAX_LINE_BYTES = 1024 * 1024

export interface AgentRequest {
  readonly socketPath: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** JSON text. */
  readonly body?: string
  /** Milliseconds until the last byte of the answer. */
  readonly timeoutMs: number
}

/**
 * Sends one request over the agent's Unix socket and returns the text of a 2xx answer. Each
 * exchange opens a new connection: it is cheap, and a kept one might be closed as idle.
 */
export async function agentExchange(request: AgentRequest): Promise<string> {
  const signal = AbortSignal.timeout(request.timeoutMs)
  try {
    return await readAnswer(await sendSuccessfully(request, signal))
  } catch (error) {
    throw describeFailure(error, request, signal)
  }
}

/**
 * The same for an answer of lines, which may be longer than memory should hold. Each line has at
 * most `MAX_LINE_BYTES`. A broken-off answer throws after its last complete line.
 */
export async function* agentLines(request: AgentRequest): AsyncGenerator<string> {
  const signal = AbortSignal.timeout(request.timeoutMs)
  try {
    const response = await sendSuccessfully(request, signal)
    for await (const lines of splitLines(response as AsyncIterable<Buffer>, MAX_LINE_BYTES))
      yield* lines.map(decodeLine)
  } catch (error) {
    throw describeFailure(error, request, signal)
  }
}

function decodeLine(line: Line): string {
  if (line === null) throw unexpected(`a line is longer than ${MAX_LINE_BYTES} bytes`)
  return line.toString('utf8')
}

/** Rejects with `ClientError` for another status than 2xx. */
async function sendSuccessfully(
  request: AgentRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const response = await send(request, signal)
  const status = response.statusCode ?? 0
  if (status < 200 || status > 299) throw parseFailure(status, await readAnswer(response))
  return response
}

function describeFailure(
  error: unknown,
  { timeoutMs, socketPath }: AgentRequest,
  signal: AbortSignal,
): ClientError {
  if (error instanceof ClientError) return error
  const [code, message] = signal.aborted
    ? (['ERR_AGENT_TIMEOUT', `no answer from the agent within ${timeoutMs / 1000} s`] as const)
    : ([
        'ERR_AGENT_UNREACHABLE',
        `cannot reach the agent at \`${socketPath}\`: ${describeSocketError(error)}`,
      ] as const)
  return new ClientError(code, message, { cause: error })
}

function send(request: AgentRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const body = request.body
    const outgoing = httpRequest({
      socketPath: request.socketPath,
      method: request.method,
      path: request.path,
      agent: false,
      signal,
      headers: {
        host: 'localhost',
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    })
    outgoing.once('response', resolve)
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

async function readAnswer(response: IncomingMessage): Promise<string> {
  const body = await readBoundedBody(response as AsyncIterable<Buffer>, MAX_ANSWER_BYTES)
  if (body === null) throw unexpected(`it is longer than ${MAX_ANSWER_BYTES} bytes`)
  return Buffer.from(body).toString('utf8')
}

function describeSocketError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return 'it is not running'
    case 'EACCES':
    case 'EPERM':
      return 'it belongs to another user'
    case 'ECONNRESET':
      return 'the connection was cut off'
    default:
      return error instanceof Error ? error.message : 'socket failure'
  }
}
