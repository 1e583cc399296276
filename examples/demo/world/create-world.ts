import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentStatus } from '../../../packages/launcher/machine/agent-status.ts'
import { ensureEnrolled } from '../../../packages/launcher/machine/enrolment.ts'
import {
  initOrganization,
  type Credentials,
} from '../../../packages/launcher/machine/first-organization.ts'
import { startAgent } from '../../../packages/launcher/machine/start-agent.ts'
import {
  startServer,
  type ServerService,
  type Surroundings,
} from '../../../packages/launcher/machine/start-server.ts'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'
import { captureChild } from '../../../packages/launcher/process/capture-child.mjs'
import type { Service } from '../../../packages/launcher/process/service.mjs'
import { demoEnvironment } from './demo-environment.ts'
import { startDnsServer, type NameServer, type Zone } from './dns-server.ts'
import { createRepository } from './git-repository.ts'
import { startOrigins, type Origins } from './origins.ts'

/** The checkout, Node and environment of the caller. */
export type Given = Pick<Surroundings, 'root' | 'node' | 'env'>

/** Takes down one thing that was started. */
export type Cleanup = () => Promise<unknown>

/** Everything that the demo runs in. */
export interface World extends Surroundings {
  /** Temporary. */
  readonly folder: string
  readonly socketPath: string
  /** Programs. */
  readonly installed: ReadonlySet<string>
  /** Programs that the demo would use. */
  readonly missing: readonly string[]
  readonly dns: NameServer
  readonly origins: Origins
  readonly credentials: Credentials
  readonly server: ServerService
  /** Puts the ports in. */
  fill(text: string): string
  /** URL of the running agent's. */
  proxy(): string
  restartAgent(ready: (status: AgentStatus) => boolean): Promise<void>
  stopAgent(): Promise<void>
}

/** Programs beside our own command; with fewer than two of them the demo proves too little. */
const FOREIGN_PROGRAMS = ['curl', 'git', 'node']

/**
 * Builds it up. Notes each start in `cleanups` at once, so that the caller can take everything down
 * again at any time, last first.
 */
export async function createWorld(given: Given, cleanups: Cleanup[]): Promise<World> {
  const installed = await findPrograms(given.env)
  const missing = FOREIGN_PROGRAMS.filter((program) => !installed.has(program))
  if (FOREIGN_PROGRAMS.length - missing.length < 2)
    throw new LaunchError(`the demo needs two programs; install ${missing.join(' or ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'palisade-demo-'))
  cleanups.push(async () => rmSync(folder, { recursive: true, force: true }))
  const env = demoEnvironment(given.env, folder)
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  if (installed.has('git')) await createRepository(folder, env)

  const zone = readExample(given.root, 'zone.json') as Zone
  const dns = await startDnsServer(zone)
  cleanups.push(dns.close)
  const others = ['127.0.20.10', '127.0.20.70', '127.0.0.1']
  const addresses = [...new Set([...Object.values(zone), ...others])]
  const origins = await startOrigins(addresses, join(folder, 'files'))
  cleanups.push(origins.close)

  const withDns = { ...env, PALISADE_DNS_SERVERS: dns.address }
  const surroundings = { root: given.root, node: given.node, dataDir, cwd: folder, env: withDns }
  const note = (service: Service) => cleanups.push(service.stop)
  const credentials = await initOrganization(surroundings, { org: 'acme', owner: 'alice' })
  if (typeof credentials === 'string')
    throw new LaunchError('the demo found its own directory in use')
  const server = await startServer(surroundings, note)
  const { url } = server
  await ensureEnrolled(surroundings, { url, org: 'acme', owner: 'alice' })
  let agent = await startAgent(surroundings, note, (status) => status.state === 'fresh')
  return {
    ...surroundings,
    folder,
    socketPath: join(folder, 'agent.sock'),
    installed,
    missing,
    dns,
    origins,
    credentials,
    server,
    fill: (text) => fillPorts(text, origins),
    proxy: () => agent.proxy,
    async stopAgent() {
      await agent.stop()
    },
    async restartAgent(ready) {
      agent = await startAgent(surroundings, note, ready)
    },
  }
}

/** Reads a file of our own data, which has the shape that its README describes. */
export function readExample(root: string, name: string): unknown {
  return JSON.parse(readFileSync(join(root, 'examples', 'demo', name), 'utf8'))
}

function fillPorts(text: string, { port, otherPort }: Origins): string {
  return text.replaceAll('${port}', String(port)).replaceAll('${other_port}', String(otherPort))
}

async function findPrograms(env: NodeJS.ProcessEnv): Promise<ReadonlySet<string>> {
  const installed = new Set(['node', 'palisade'])
  for (const program of ['curl', 'git']) {
    const run = await captureChild(program, ['--version'], { cwd: tmpdir(), env })
    if (run.code === 0) installed.add(program)
  }
  return installed
}
