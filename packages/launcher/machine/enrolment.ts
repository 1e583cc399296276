import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname as nameOfHost } from 'node:os'
import { join, resolve } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { runServerCommand } from './first-organization.ts'
import type { Surroundings } from './start-server.ts'

/** The members of the machine's enrolment that we read. */
export interface Enrolment {
  readonly server: string
  readonly org: string
  readonly user: string | null
  readonly device_id: string
}

/** The file from which the agent reads its enrolment: it obeys PALISADE_ENROLMENT, so must we. */
export function enrolmentFile({
  dataDir,
  cwd,
  env,
}: Pick<Surroundings, 'dataDir' | 'cwd' | 'env'>): string {
  const given = env['PALISADE_ENROLMENT'] || ''
  return given === '' ? join(dataDir, 'agent', 'enrolment.json') : resolve(cwd, given)
}

/** Returns null when the machine is not enrolled. */
export function readEnrolment(surroundings: Surroundings): Enrolment | null {
  const file = enrolmentFile(surroundings)
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isEnrolment(value)) return value
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  }
  throw new LaunchError(`\`${file}\` cannot be read as an enrolment; remove it to enrol again`, 78)
}

/** Leaves `user` to the agent, which reads the file strictly. */
function isEnrolment(value: unknown): value is Enrolment {
  if (typeof value !== 'object' || value === null) return false
  const { server, org, device_id } = value as Partial<Record<keyof Enrolment, unknown>>
  return [server, org, device_id].every((member) => typeof member === 'string')
}

/**
 * The refusal to use a machine that another server has enrolled: it must stay with that server.
 */
export function foreignEnrolment(
  surroundings: Surroundings,
  enrolment: Enrolment | null,
): LaunchError {
  const file = enrolmentFile(surroundings)
  return new LaunchError(
    `this machine is enrolled to organization \`${enrolment?.org}\` at \`${enrolment?.server}\` ` +
      `in \`${file}\`, which \`npm start\` did not make; ` +
      'start its agent with `npm run -s palisade-agent -- start`, ' +
      'or set PALISADE_DATA_DIR to a directory of its own',
    78,
  )
}

/**
 * Ensures that the machine is enrolled to its own server, also when that moved to another port.
 * The caller has verified that the server made the enrolment.
 */
export async function ensureEnrolled(
  surroundings: Surroundings,
  { url, org, owner }: { url: string; org: string; owner: string },
): Promise<void> {
  const file = enrolmentFile(surroundings)
  const known = readEnrolment(surroundings)
  if (known === null) {
    const args = ['device', 'enrol', '--org', org, '--user', owner, '--server', url, '--out', file]
    const name = nameOfHost()
    // The server refuses unprintable names; such a host is enrolled without one.
    if (/^[\w.-]{1,64}$/.test(name)) args.push(`--name=${name}`)
    await runServerCommand(surroundings, args)
  } else if (known.server !== url && isMovedPort(known.server, url)) {
    replaceFile(file, `${JSON.stringify({ ...known, server: url }, null, 2)}\n`)
  }
}

/** A person chose a public address, such as that of a proxy before the server, so it stays. */
function isMovedPort(known: string, url: string): boolean {
  return isLoopback(known) || new URL(known).hostname === new URL(url).hostname
}

function isLoopback(server: string): boolean {
  if (!URL.canParse(server)) return false
  const { hostname } = new URL(server)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}

function replaceFile(file: string, text: string): void {
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}
