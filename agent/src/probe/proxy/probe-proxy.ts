import type { ProbeResult } from '@palisade/protocol'
import type { PointProtocol } from '../../enforcement/enforcement-event.ts'
import type { Canaries, Canary } from './canaries.ts'
import { startCanaryServer, type CanaryServer } from './canary-server.ts'
import type { Dialect, ProbeScene } from './dialect.ts'
import { probeConnect, probeHttp } from './http-dialects.ts'
import { probeDatagrams, probeSocks } from './socks-dialects.ts'

/** A proxy that is busy still answers within this time. */
const TIMEOUT_MS = 10_000

type NoDialect = 'dns' | 'file' | 'mount' | 'tcp' | 'udp'

const DIALECTS: Readonly<Record<Exclude<PointProtocol, NoDialect>, Dialect>> = {
  connect: probeConnect,
  http: probeHttp,
  socks5: probeSocks,
  socks5_udp: probeDatagrams,
}

export interface ProbeDeps {
  readonly canaries: Pick<Canaries, 'open'>
  /** A new secret of a-z and 0-9 for each call, at most 63 long. */
  readonly token: () => string
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** False where a parent proxy carries all connections: it carries no datagrams. */
  readonly carriesDatagrams: boolean
  /** For each connection to the proxy. Default 10,000. */
  readonly timeoutMs?: number
}

/**
 * Asks the proxy at `http://127.0.0.1:PORT` for both canaries in each dialect, as a program would.
 * The allowed one must lead to an answer of the agent itself; the refused one must be denied, and
 * lead nowhere. Nothing leaves the machine. Never rejects.
 */
export async function probeProxy(deps: ProbeDeps, proxy: string): Promise<ProbeResult> {
  const { token, carriesDatagrams, timeoutMs = TIMEOUT_MS } = deps
  const texts = { allowed: token(), refused: token(), answer: token() }
  let server: CanaryServer | null = null
  let canary: Canary | null = null
  let problem: string | null
  try {
    server = await startCanaryServer(texts)
    canary = deps.canaries.open(token(), server.ports)
    const proxyPort = Number(new URL(proxy).port)
    const scene = { proxyPort, canary, texts, carriesDatagrams, timeoutMs }
    problem = await findProblem(scene, canary, server)
  } catch (error) {
    problem = `the probe could not begin: ${describeError(error)}`
  } finally {
    canary?.close()
    server?.close()
  }
  const at = new Date(deps.clock()).toISOString()
  return problem === null
    ? { at, ok: true, detail: 'the allowed canary passed, the refused one was denied' }
    : { at, ok: false, detail: problem }
}

/** One dialect after the other, so that the first problem belongs to its dialect. */
async function findProblem(
  scene: ProbeScene,
  canary: Canary,
  server: CanaryServer,
): Promise<string | null> {
  for (const [name, probe] of Object.entries(DIALECTS)) {
    const problem = await probe(scene).catch(
      (error: unknown) => `the proxy does not answer: ${describeError(error)}`,
    )
    if (problem !== null) return `${name}: ${problem}`
    if (server.heardRefused()) return `${name}: the refused canary was reached`
    if (canary.wasRefusedResolved()) return `${name}: the refused canary was resolved`
  }
  return null
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
