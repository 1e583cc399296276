import type { Fetch, FetchAnswer, FetchRequest } from '@palisade/client'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http'
import { Socket } from 'node:net'
import { createLoopTurns, type LoopTurns } from '../../proxy/loop-turns.ts'
import { paceAnswer, PacedAnswers } from '../../proxy/paced-answers.ts'
import { readChunks } from './read-chunks.ts'

/** Of a connection that nothing is asked over. */
const IDLE_MS = 5_000

/**
 * Asks a server by `node:http`, which the agent has anyway. The global `fetch` is a client of its
 * own, in JavaScript and WebAssembly: it is 13 MiB of what an agent holds, and needs a compiler of
 * machine code.
 *
 * Follows no redirect, uses no proxy whatever the environment says, and takes no compressed answer.
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

/** Only where the server wants it: loading TLS takes longer than asking. */
function createTls(turns: LoopTurns) {
  const { Agent: TlsAgent, request: tlsRequest } = process.getBuiltinModule('node:https')
  // Said, because NODE_TLS_REJECT_UNAUTHORIZED in the environment decides where it is not.
  const options = { keepAlive: true, timeout: IDLE_MS, rejectUnauthorized: true }
  return { request: tlsRequest, agent: pace(new TlsAgent(options), turns) }
}

/** Answers are read in pieces: an update in chunks of one byte would hold decisions up. */
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
      ...placeOf(url),
      method,
      headers: { ...headers, 'accept-encoding': 'identity' },
      agent: wire.agent,
    })
    // Not by the option of the same name, which ends it with an error: a connection that is just
    // being laid aside would throw that where nobody catches it.
    const stop = (): void => void sent.destroy()
    signal.addEventListener('abort', stop)
    paceAnswer(sent)
    sent.once('response', resolve)
    sent.on('error', (error) => reject(signal.aborted ? signal.reason : nameable(error)))
    sent.once('close', () => {
      signal.removeEventListener('abort', stop)
      // Without an error, as after an answer that goes on by another protocol.
      reject(new Error('the server closed the connection'))
    })
    sent.end(body ?? undefined)
  })
}

/** As `node:http` finds it in a URL itself, with members that nobody asks for. */
function placeOf(url: string): RequestOptions {
  const { protocol, hostname, port, pathname, search } = new URL(url)
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { protocol, hostname: host, port, path: `${pathname}${search}` }
}

/** Of all addresses of a name that were tried in vain, the first says why. */
function nameable(error: Error): unknown {
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
        // What is left of it has come; the connection is free for the next request after it.
        const ended = once(response, 'end')
        response.resume()
        await ended
      },
    },
  }
}

/** Names and values come in turns; a member that stands twice is told as such. */
function readHeader(lines: readonly string[], name: string): string | null {
  const values = lines.filter((_, at) => at % 2 === 1 && lines[at - 1]?.toLowerCase() === name)
  return values.length === 0 ? null : values.join(', ')
}
