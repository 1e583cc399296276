import type { ProbeResult } from '@palisade/protocol'
import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'
import { CANARY_ADDRESS, type Canaries, type Canary } from './canaries.ts'

/** A proxy that is busy still answers within this time. */
const TIMEOUT_MS = 10_000
const MAX_ANSWER_LENGTH = 65_536

export interface ProbeDeps {
  readonly canaries: Pick<Canaries, 'open'>
  /** A new secret of a-z and 0-9 for each call, at most 63 long. */
  readonly token: () => string
  /** Epoch milliseconds. */
  readonly clock: () => number
}

/**
 * Asks the proxy at `http://127.0.0.1:PORT` for both canaries, as a program would. The allowed one
 * must lead to an answer of the agent itself; the refused one must be denied, and lead nowhere.
 * Nothing leaves the machine. Never rejects.
 */
export async function probeProxy(deps: ProbeDeps, proxy: string): Promise<ProbeResult> {
  const greeting = deps.token()
  let reached = 0
  const answering = createServer((socket) => {
    reached += 1
    socket.on('error', () => socket.destroy())
    socket.end(greeting)
  })
  let canary: Canary | null = null
  let problem: string | null
  try {
    canary = deps.canaries.open(deps.token(), await listen(answering))
    problem = await findProblem(proxy, canary, greeting)
    if (problem === null && reached !== 1) problem = 'the refused canary was connected'
  } catch (error) {
    problem = `it does not answer: ${error instanceof Error ? error.message : 'unknown error'}`
  } finally {
    canary?.close()
    answering.close()
  }
  const at = new Date(deps.clock()).toISOString()
  return problem === null
    ? { at, ok: true, detail: 'the allowed canary passed, the refused one was denied' }
    : { at, ok: false, detail: problem }
}

async function findProblem(
  proxy: string,
  { allowed, refused, port }: Canary,
  greeting: string,
): Promise<string | null> {
  const proxyPort = Number(new URL(proxy).port)
  const denied = await ask(proxyPort, `${refused}:${port}`)
  if (!denied.startsWith('HTTP/1.1 403 '))
    return describe('the refused canary was not denied', denied)
  if (!/^palisade-decision: deny/im.test(denied)) return 'the denial has no decision'
  const passed = await ask(proxyPort, `${allowed}:${port}`)
  if (!passed.startsWith('HTTP/1.1 200 '))
    return describe('the allowed canary did not pass', passed)
  return passed.endsWith(greeting) ? null : 'the tunnel of the allowed canary carries other bytes'
}

/** All that the proxy sends until it closes, or until it has sent far too much. */
async function ask(port: number, authority: string): Promise<string> {
  const socket = connect({ port, host: CANARY_ADDRESS })
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  try {
    await once(socket, 'connect', { signal: deadline })
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
    socket.setEncoding('utf8')
    const closed = once(socket, 'end', { signal: deadline })
    let received = ''
    socket.on('data', (text: string) => {
      received += text
      if (received.length > MAX_ANSWER_LENGTH) socket.destroy(new Error('the answer is endless'))
    })
    await closed
    return received
  } finally {
    socket.destroy()
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, CANARY_ADDRESS)
  await once(server, 'listening')
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : 0
}

function describe(problem: string, answer: string): string {
  const [line = ''] = answer.split('\r\n')
  return `${problem}: ${line === '' ? 'no answer' : line.slice(0, 200)}`
}
