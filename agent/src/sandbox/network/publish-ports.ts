import type { PublishedPort } from '@palisade/protocol'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { systemErrorCode } from '../../host/errors.ts'
import { JOIN } from '../holder/holder-message.ts'
import type { JoinMessage } from '../holder/join-connections.ts'
import { SANDBOX_PORTS } from '../holder/namespace-set-up.ts'
import { HolderError } from '../holder/start-holder.ts'
import type { Launch } from '../launch/trampoline.ts'
import { ViewRefusal } from '../view/view-refusal.ts'

const LOOPBACK = ['127.0.0.1', '::1'] as const
const OWN_PORTS = new Set<number>(Object.values(SANDBOX_PORTS))
/** Connections of a port that wait to be handed over, each with a descriptor of the agent. */
const MAX_WAITING = 256
const START_TIMEOUT_MS = 15_000

export interface PublishDeps {
  /** A process in the namespaces of the sandbox. */
  readonly holderPid: number
  readonly holderFile: string
  /** Absolute paths. */
  readonly programs: Pick<Launch['programs'], 'nsenter' | 'setpriv'>
  readonly active: Pick<ActivePolicy, 'decide' | 'subscribe'>
}

/** The ports of one sandbox that programs of the machine reach. */
export interface PublishedPorts {
  /** Closes all listeners and connections. Idempotent. */
  close(): void
}

/**
 * Opens ports on the machine's loopback whose connections lead to ports of the sandbox. A rule that
 * denies connections to such a port of loopback refuses it. A later one closes all.
 *
 * A process in the network of the sandbox joins the connections: no socket of the agent can lead
 * there. It has no socket of the machine but those of programs that asked for the port. Rejects
 * with `ViewRefusal` or `HolderError`.
 */
export async function publishPorts(
  ports: readonly PublishedPort[],
  deps: PublishDeps,
): Promise<PublishedPorts> {
  if (ports.length === 0) return { close: () => {} }
  for (const port of ports) requirePublishable(port, deps)
  const joiner = startJoiner(deps)
  const servers: Server[] = []
  const close = (): void => {
    unsubscribe()
    for (const server of servers) server.close()
    if (joiner.connected) joiner.disconnect()
    joiner.kill('SIGKILL')
  }
  const unsubscribe = deps.active.subscribe(() => {
    if (ports.some(({ host_port: port }) => isDenied(port, deps))) close()
  })
  try {
    await untilReady(joiner)
    joiner.once('exit', close)
    for (const port of ports)
      for (const host of LOOPBACK)
        servers.push(...(await listen(port, host, (client) => handOver(client, port, joiner))))
    return { close }
  } catch (error) {
    close()
    throw error
  }
}

function handOver(client: Socket, { port }: PublishedPort, joiner: ChildProcess): void {
  client.on('error', () => {})
  const message: JoinMessage = { port }
  if (!joiner.connected) client.resetAndDestroy()
  else
    joiner.send(message, client, {}, (error) => {
      if (error !== null) client.destroy()
    })
}

function requirePublishable({ host_port, port }: PublishedPort, deps: PublishDeps): void {
  if (OWN_PORTS.has(port))
    throw new ViewRefusal(
      `port ${port} of a sandbox belongs to the agent and cannot be published; let the command ` +
        'listen on another one',
    )
  if (isDenied(host_port, deps))
    throw new ViewRefusal(
      `policy denies port ${host_port} of the machine's loopback, so it cannot be published`,
    )
}

/** Loopback is protected, so that no rule is needed; only one that denies counts. */
function isDenied(port: number, { active }: PublishDeps): boolean {
  return ['localhost', ...LOOPBACK].some((host) => {
    const { decision, reason } = active.decide({ action: 'connect:tcp', host, port })
    return decision === 'deny' && reason === 'rule'
  })
}

/** It needs no capability over the namespaces that it enters. */
function startJoiner({ holderFile, holderPid, programs }: PublishDeps): ChildProcess {
  const namespaces = ['--user', '--net', '--pid', '--mount', '--preserve-credentials']
  const powerless = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
  const node = [process.execPath, '--max-semi-space-size=1', '--v8-pool-size=1', holderFile, JOIN]
  const words = [programs.setpriv, ...powerless, '--', ...node]
  return spawn(programs.nsenter, ['--target', String(holderPid), ...namespaces, '--', ...words], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
  })
}

async function untilReady(joiner: ChildProcess): Promise<void> {
  const failed = new AbortController()
  const fail = (): void => failed.abort()
  joiner.once('exit', fail)
  joiner.on('error', fail)
  const signal = AbortSignal.any([failed.signal, AbortSignal.timeout(START_TIMEOUT_MS)])
  try {
    await once(joiner, 'message', { signal })
  } catch (error) {
    throw new HolderError('the process that joins published ports did not start', { cause: error })
  }
}

/** Empty where the machine has no such address. */
async function listen(
  { host_port: port }: PublishedPort,
  host: string,
  onClient: (client: Socket) => void,
): Promise<Server[]> {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, onClient)
  server.maxConnections = MAX_WAITING
  server.listen({ host, port })
  try {
    await once(server, 'listening')
    return [server]
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return []
    const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${code})`
    throw new ViewRefusal(
      `port ${port} of the machine ${why}; publish another one, such as ` +
        `\`--publish ${port === MAX_PORT ? port - 1 : port + 1}:PORT\``,
      error,
    )
  }
}

const MAX_PORT = 65_535
