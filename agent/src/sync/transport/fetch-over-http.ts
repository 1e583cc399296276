import type { Fetch, FetchAnswer, FetchRequest } from '@palisade/client'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http'
import { Socket } from 'node:net'
import { createLoopTurns, type LoopTurns } from '../../http/loop-turns.ts'
import { paceAnswer, PacedAnswers } from '../../http/paced-answers.ts'
import { readChunks } from './read-chunks.ts'

/** For a connection without a request. */
const IDLE_MS = 5_000

/**
 * Asks a server by `node:http`, which the agent loads anyway. The global `fetch` is a separate
 * client in JavaScript and WebAssembly: it takes more memory and needs a compiler of machine code.
 *
 * Follows no redirect, ignores the proxy variables of the environment, and accepts no compressed
 * answer.
 */
export function createHttpFetch(): Fetch {
  const turns = createLoopTurns()
  const options = { keepAlive: true, timeout: IDLE_MS }
  const http = { request, agent: pace(new Agent(options), turns) }
  let https: typeof http | null = null
  const wireFor = (url: string): typeof http => {
    if (!url.startsWith('https:')) return http
    https ??= createTls(turns)
    return https
  }

  return async (url, asked) => {
    const response = await send(wireFor(url), url, asked)
    return describe(response, asked.signal)
  }
}

/** Created only for an `https:` server, because loading TLS takes longer than a request. */
function createTls(turns: LoopTurns) {
  const { Agent: TlsAgent, request: tlsRequest } = process.getBuiltinModule('node:https')
  // Explicit, because otherwise NODE_TLS_REJECT_UNAUTHORIZED in the environment decides.
  const options = { keepAlive: true, timeout: IDLE_MS, rejectUnauthorized: true }
  return { request: tlsRequest, agent: pace(new TlsAgent(options), turns) }
}

/** Reads answers in pieces: an update in one-byte chunks would delay decisions. */
function pace(agent: Agent, turns: LoopTurns): Agent {
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options) => {
    const socket = connect(options)
    return socket instanceof Socket ? new PacedAnswers(socket, turns) : socket
  }
  return agent
}

function send(
  wire: { readonly request: typeof request; readonly agent: Agent },
  url: string,
  { method, headers, body = null, signal }: FetchRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const sent = wire.request({
      ...targetOf(url),
      method,
      headers: { ...headers, 'accept-encoding': 'identity' },
      agent: wire.agent,
    })
    // The `signal` option of `node:http` would end the request with an error, which a connection on
    // its way back to the pool throws where it cannot be caught.
    const stop = (): void => void sent.destroy()
    signal.addEventListener('abort', stop)
    paceAnswer(sent)
    sent.once('response', resolve)
    sent.on('error', (error) => reject(signal.aborted ? signal.reason : firstCause(error)))
    sent.once('close', () => {
      signal.removeEventListener('abort', stop)
      // Covers a close without an error, as after an answer that switches protocols.
      reject(new Error('the server closed the connection'))
    })
    sent.end(body ?? undefined)
  })
}

/** `node:http` would also derive these from a URL, with members that are not needed. */
function targetOf(url: string): RequestOptions {
  const { protocol, hostname, port, pathname, search } = new URL(url)
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { protocol, hostname: host, port, path: `${pathname}${search}` }
}

/** When all addresses of a name fail, the first error names the cause. */
function firstCause(error: Error): unknown {
  return error instanceof AggregateError ? (error.errors[0] as unknown) : error
}

function describe(response: IncomingMessage, signal: AbortSignal): FetchAnswer {
  return {
    status: response.statusCode ?? 0,
    headers: { get: (name) => readHeader(response.rawHeaders, name) },
    body: {
      [Symbol.asyncIterator]: () => readChunks(response, signal),
      async cancel() {
        if (!response.complete) response.destroy()
        if (response.destroyed || response.readableEnded) return
        // The rest of the answer has arrived; after it the connection is free for the next request.
        const ended = once(response, 'end')
        response.resume()
        await ended
      },
    },
  }
}

/** Names and values alternate; the values of a repeated header are joined. */
function readHeader(lines: readonly string[], name: string): string | null {
  const values = lines.filter((_, at) => at % 2 === 1 && lines[at - 1]?.toLowerCase() === name)
  return values.length === 0 ? null : values.join(', ')
}
