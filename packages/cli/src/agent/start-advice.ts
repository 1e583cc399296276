import { access, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Io } from '../runtime/io.ts'
import { quoteShell } from '../terminal/quote-shell.ts'

type Environment = Pick<Io, 'env' | 'cwd'>

/** The data directory of this run, where the agent keeps its files in `agent/`. */
export function dataDirectory({ env, cwd }: Environment): string {
  return resolve(cwd, env['PALISADE_DATA_DIR'] || '.palisade')
}

/** Path of the enrolment that the agent of this run reads. */
export function enrolmentPath(io: Environment): string {
  const given = io.env['PALISADE_ENROLMENT'] || ''
  return given === '' ? join(dataDirectory(io), 'agent', 'enrolment.json') : resolve(io.cwd, given)
}

/**
 * Says how to start the agent of this run. Suggests `npm start` only where it created the machine:
 * elsewhere it would create a server and an organization.
 */
export async function adviseStart(io: Environment): Promise<string> {
  const dataDir = dataDirectory(io)
  const socket = io.env['PALISADE_AGENT_SOCKET'] || ''
  const enrolment = io.env['PALISADE_ENROLMENT'] || ''
  const file = enrolmentPath(io)
  const command = (words: string): string => `\`${prefixOf(io, dataDir)}${words}\``
  const start = command(`${programOf(io, 'palisade-agent')} start`)
  if (!(await isThere(file)))
    return (
      `no machine is enrolled in \`${dataDir}\`: ` +
      'set PALISADE_DATA_DIR to the directory of its agent, ' +
      `or enrol it with ${command(`${programOf(io, 'palisade')} enrol`)} ` +
      `and start it with ${start}; ` +
      'to try Palisade, `npm start` runs server and agent'
    )
  if (socket === '' && enrolment === '' && (await isMadeByNpmStart(dataDir, file)))
    return `start it with ${command('npm start')}`
  return `start it with ${start}`
}

/**
 * The shell command of `palisade` for another program, which has another directory and environment.
 * From a checkout it avoids npm, which takes longer to start than the command.
 */
export function hookProgram(io: Environment): string {
  const root = npmRoot(io.env)
  const program =
    root === null ? 'palisade' : `node ${quoteShell(join(root, 'packages/cli/dist/palisade.cjs'))}`
  const settings = [
    `PALISADE_DATA_DIR=${quoteShell(dataDirectory(io))} `,
    ...(['PALISADE_ENROLMENT', 'PALISADE_AGENT_SOCKET'] as const).flatMap((name) =>
      (io.env[name] || '') === '' ? [] : [`${name}=${quoteShell(io.env[name] ?? '')} `],
    ),
  ]
  return `${settings.join('')}${program}`
}

/** `npm start` leaves the log of its server, which runs on this machine. */
async function isMadeByNpmStart(dataDir: string, file: string): Promise<boolean> {
  if (!(await isThere(join(dataDir, 'server.log')))) return false
  const text = await readFile(file, 'utf8').catch(() => '')
  return /"server": *"http:\/\/(?:127\.|localhost[:"]|\[::1\])/.test(text)
}

/** The variables that a command needs to find the same agent. */
function prefixOf({ env, cwd }: Environment, dataDir: string): string {
  const root = npmRoot(env)
  const usual = join(root ?? cwd, '.palisade')
  const settings = [
    ['PALISADE_DATA_DIR', dataDir === usual ? '' : dataDir],
    ['PALISADE_ENROLMENT', env['PALISADE_ENROLMENT'] || ''],
    ['PALISADE_AGENT_SOCKET', env['PALISADE_AGENT_SOCKET'] || ''],
  ] as const
  return settings
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${quoteShell(value)} `)
    .join('')
}

function programOf({ env }: Environment, name: string): string {
  return npmRoot(env) === null ? name : `npm run -s ${name} --`
}

/** The checkout if npm runs this command, otherwise null. */
function npmRoot(env: Environment['env']): string | null {
  if (env['npm_lifecycle_event'] !== 'palisade') return null
  const manifest = env['npm_package_json'] || ''
  return manifest === '' ? null : dirname(manifest)
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch {
    return false
  }
}
