import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { AgentAddress } from '../agent-socket.ts'
import { readBoundedBody } from '../bounded-body.ts'
import { ClientError, unexpected } from '../client-error.ts'

const LOOPBACK = '127.0.0.1'
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

export interface AgentRequest {
  readonly address: AgentAddress
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  /** Of the body; default JSON. */
  readonly mediaType?: string
  /** Milliseconds until the last byte of the answer. */
  readonly timeoutMs: number
  /** Default 8 MiB. */
  readonly maxAnswerBytes?: number
}

export interface AgentAnswer {
  readonly status: number
  readonly text: string
}

/**
 * Sends one request to the agent. Each exchange opens a new connection: it is
 * cheap, and a kept one might be closed as idle.
 */
export async function agentExchange(request: AgentRequest): Promise<AgentAnswer> {
  const signal = AbortSignal.timeout(request.timeoutMs)
  try {
    const response = await sendToAgent(request, signal)
    const text = await readAnswer(response, request.maxAnswerBytes)
    return { status: response.statusCode ?? 0, text }
  } catch (error) {
    throw exchangeError(error, request, signal.aborted)
  }
}

/** The error of a failed exchange; `isLate` after its timeout. */
export function exchangeError(
  error: unknown,
  request: Pick<AgentRequest, 'address' | 'timeoutMs'>,
  isLate: boolean,
): ClientError {
  if (error instanceof ClientError) return error
  if (isLate)
    return new ClientError(
      'ERR_AGENT_TIMEOUT',
      `no answer from the agent within ${request.timeoutMs / 1000} s`,
      { cause: error },
    )
  return new ClientError(
    'ERR_AGENT_UNREACHABLE',
    `cannot reach the agent at \`${describeAddress(request)}\`: ${describeSocketError(error)}`,
    { cause: error },
  )
}

/** Sends the request; resolves to the head of the answer. */
export function sendToAgent(request: AgentRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { body, mediaType = 'application/json' } = request
    const outgoing = httpRequest({
      // No `Agent`: it compiles Node's long pattern of IPv6 addresses to check the name of the host
      // (bench: sandbox/client).
      createConnection: () => open(request.address),
      method: request.method,
      path: request.path,
      signal,
      headers: {
        host: 'port' in request.address ? describeAddress(request) : 'localhost',
        ...(body === undefined
          ? {}
          : { 'content-type': mediaType, 'content-length': Buffer.byteLength(body) }),
      },
    })
    outgoing.once('response', resolve)
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Reads a whole answer. */
export async function readAnswer(
  response: IncomingMessage,
  maxBytes: number = MAX_ANSWER_BYTES,
): Promise<string> {
  const body = await readBoundedBody(response as AsyncIterable<Buffer>, maxBytes)
  if (body === null) throw unexpected(`it is longer than ${maxBytes} bytes`)
  return Buffer.from(body).toString('utf8')
}

function open(address: AgentAddress): Socket {
  return 'port' in address ? connect(address.port, LOOPBACK) : connect(address.socketPath)
}

function describeAddress({ address }: Pick<AgentRequest, 'address'>): string {
  return 'port' in address ? `${LOOPBACK}:${address.port}` : address.socketPath
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
