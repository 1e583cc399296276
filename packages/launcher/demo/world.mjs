import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureEnrolled } from '../machine/enrolment.ts'
import { initOrganization } from '../machine/first-organization.ts'
import { startAgent } from '../machine/start-agent.ts'
import { startServer } from '../machine/start-server.ts'
import { LaunchError } from '../prepare/launch-error.mjs'
import { captureChild } from '../process/capture-child.mjs'
import { demoEnvironment } from './demo-environment.mjs'
import { startDnsServer } from './dns-server.mjs'
import { createRepository } from './git-repository.mjs'
import { startOrigins } from './origins.mjs'

/** @typedef {import('../machine/agent-status.ts').AgentStatus} AgentStatus */
/** @typedef {import('../process/service.mjs').Service} Service */

/**
 * Everything that the demo runs in; satisfies `Surroundings`.
 *
 * @typedef {object} World
 * @property {string} root
 * @property {string} node
 * @property {string} folder temporary
 * @property {string} dataDir
 * @property {string} cwd
 * @property {NodeJS.ProcessEnv} env
 * @property {string} socketPath
 * @property {ReadonlySet<string>} installed programs
 * @property {readonly string[]} missing programs that the demo would use
 * @property {import('./dns-server.mjs').NameServer} dns
 * @property {import('./origins.mjs').Origins} origins
 * @property {import('../machine/first-organization.ts').Credentials} credentials
 * @property {import('../machine/start-server.ts').ServerService} server
 * @property {(text: string) => string} fill puts the ports in
 * @property {() => string} proxy URL of the running agent's
 * @property {(ready: (status: AgentStatus) => boolean) => Promise<void>} restartAgent
 * @property {() => Promise<void>} stopAgent
 */

/** Programs beside our own command; with fewer than two of them the demo proves too little. */
const FOREIGN_PROGRAMS = ['curl', 'git', 'node']

/**
 * Builds it up. Whatever is started is noted in `cleanups` at once, so that the caller can take
 * everything down again at any time, last first.
 *
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv }} given
 * @param {(() => Promise<unknown>)[]} cleanups
 * @returns {Promise<World>}
 */
export async function createWorld(given, cleanups) {
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

  const zone = readExample(given.root, 'zone.json')
  const dns = await startDnsServer(zone)
  cleanups.push(dns.close)
  const addresses = [...new Set([...Object.values(zone), '127.0.20.10', '127.0.20.70'])]
  const origins = await startOrigins(addresses, join(folder, 'files'))
  cleanups.push(origins.close)

  const withDns = { ...env, PALISADE_DNS_SERVERS: dns.address }
  const surroundings = { root: given.root, node: given.node, dataDir, cwd: folder, env: withDns }
  const note = (/** @type {Service} */ service) => cleanups.push(service.stop)
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

/**
 * @param {string} root
 * @param {string} name
 * @returns {any} our own data, in the shape that its README describes
 */
export function readExample(root, name) {
  return JSON.parse(readFileSync(join(root, 'examples', 'demo', name), 'utf8'))
}

/**
 * @param {string} text
 * @param {{ port: number, otherPort: number }} ports
 */
function fillPorts(text, { port, otherPort }) {
  return text.replaceAll('${port}', String(port)).replaceAll('${other_port}', String(otherPort))
}

/** @param {NodeJS.ProcessEnv} env */
async function findPrograms(env) {
  const installed = new Set(['node', 'palisade'])
  for (const program of ['curl', 'git']) {
    const run = await captureChild(program, ['--version'], { cwd: tmpdir(), env })
    if (run.code === 0) installed.add(program)
  }
  return installed
}
