import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { captureChild } from '../process/capture-child.mjs'
import { bundleOf, SERVER } from '../programs.mjs'
import type { Surroundings } from './start-server.ts'

/** The answer of `palisade-server init` after it has created an organization; printed once. */
export interface Credentials {
  readonly org: string
  readonly username: string
  readonly password: string
  readonly personal_token: string
}

type InitAnswer = Credentials | { readonly outcome: 'unknown_device' }

/**
 * Creates the organization and its owner on an empty store. For a machine that is enrolled already,
 * creates nothing unless the store knows that device.
 */
export async function initOrganization(
  surroundings: Surroundings,
  { org, owner, device }: { org: string; owner: string; device?: string | undefined },
): Promise<Credentials | 'not_empty' | 'unknown_device'> {
  const { dataDir, env } = surroundings
  const inDirectory = (env['DATABASE_URL'] || '') === ''
  if (device !== undefined && inDirectory && !existsSync(join(dataDir, 'server.db')))
    return 'unknown_device'
  const args = ['init', '--org', org, '--owner', owner, '--json', '--if-empty']
  if (device !== undefined) args.push('--device', device)
  const run = await captureServer(surroundings, args)
  const answer = run.stdout.trim() === '' ? null : (JSON.parse(run.stdout) as InitAnswer)
  if (answer !== null && 'outcome' in answer) return 'unknown_device'
  requireSuccess(run, args)
  return answer ?? 'not_empty'
}

/** Runs a command of palisade-server; a failure is passed on as the command told it. */
export async function runServerCommand(surroundings: Surroundings, args: readonly string[]) {
  const run = await captureServer(surroundings, args)
  requireSuccess(run, args)
  return run
}

function captureServer({ root, cwd, node, env }: Surroundings, args: readonly string[]) {
  return captureChild(node, [join(root, bundleOf(SERVER)), ...args], { cwd, env })
}

function requireSuccess(
  { code, stderr }: { code: number; stderr: string },
  [command]: readonly string[],
): void {
  if (code === 0) return
  throw new LaunchError(stderr.trim() || `palisade-server ${command} ended with ${code}`, code)
}
