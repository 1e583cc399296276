import {
  FIRST_PREVIOUS,
  LOCAL_API,
  type AgentStatus,
  type LogVerification,
} from '@palisade/protocol'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { bundleOf } from '../../agent/fixture/bundle.ts'
import { startOrigin, startProxy, type ProxyScene } from '../../agent/fixture/proxy.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'

export interface Machine {
  readonly proxy: ProxyScene
  /** An origin that the policy allows as `good.test`. */
  readonly port: number
  readonly env: Record<string, string>
  readonly cwd: string
}

/**
 * A proxy that allows `good.test`, and a socket that tells its address and verifies its records, as
 * an agent does.
 */
export async function startMachine(
  changes: Partial<AgentStatus> = {},
  verification: Partial<LogVerification> = {},
): Promise<Machine> {
  const origin = await startOrigin()
  const proxy = await startProxy(bundleOf(['allow', 'connect:tcp', 'good.test', '127.0.0.1/32']), {
    'good.test': ['127.0.0.1'],
  })
  const directory = await temporaryDirectory()
  const socket = join(directory, 'agent.sock')
  const server = createServer(({ url }, response) => {
    if (url === LOCAL_API.logVerification)
      return response.end(JSON.stringify({ ...VERIFIED, ...verification }))
    if (url === LOCAL_API.sandboxLimits)
      return response.end(JSON.stringify({ processes: 'rlimit', memory: null }))
    if (url?.startsWith(LOCAL_API.log) === true)
      return response.end(formatLog(proxy.decisions, new URL(url, 'http://agent')))
    const status = statusOf(`http://127.0.0.1:${proxy.port}`)
    return response.end(JSON.stringify({ ...status, ...changes }))
  })
  await listen(server, socket)
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: directory,
    PALISADE_AGENT_SOCKET: socket,
  }
  return { proxy, port: origin.port, env, cwd: directory }
}

const VERIFIED: LogVerification = {
  intact: true,
  lines: 3,
  files: 1,
  lost: 0,
  faults: [],
  head: null,
}

async function listen(server: Server, socket: string): Promise<void> {
  server.listen(socket)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
}

/** The decisions as records, each in one line. */
function formatLog(decisions: ProxyScene['decisions'], { searchParams }: URL): string {
  return decisions
    .map((decision, index) => ({
      seq: index + 1,
      boot: 'boot-1',
      time: '2026-11-21T09:00:00.000Z',
      point: 'proxy',
      protocol: 'connect',
      decision,
      count: 1,
      previous: FIRST_PREVIOUS,
    }))
    .filter(({ decision }) => searchParams.get('denied') !== '1' || decision.decision === 'deny')
    .slice(-Number(searchParams.get('limit')))
    .map((record) => `${JSON.stringify(record)}\n`)
    .join('')
}

function statusOf(proxy: string): AgentStatus {
  return {
    state: 'fresh',
    server: 'http://127.0.0.1:8420',
    org: 'acme',
    user: null,
    device_id: 'dev_1',
    agent_version: '0.1.0',
    started_at: '2026-11-21T09:00:00.000Z',
    proxy,
    bundle: null,
    break_glass: null,
    sync: {
      last_attempt_at: null,
      last_success_at: null,
      failing_since: null,
      last_error: null,
      next_attempt_at: null,
      awaiting: null,
    },
    hints: { is_on: true, failing_since: null, last_error: null },
    cache_problem: null,
    decisions: { allowed: 0, denied: 0 },
    records: { written: 3, lost: 0, bytes: 900, error: null, last_loss: null },
  }
}
