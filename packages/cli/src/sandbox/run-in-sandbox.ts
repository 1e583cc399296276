import { startSandbox, type AgentAddress } from '@palisade/client'
import { SANDBOX_AGENT, SANDBOX_PROXY } from '@palisade/protocol'
import { realpathSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { reachAgent } from '../agent/reach-agent.ts'
import { CliError } from '../runtime/cli-error.ts'
import type { AgentIo, Io } from '../runtime/io.ts'
import { withoutNpmScript } from '../runtime/programs/npm-script.ts'
import { printable } from '../terminal/printable.ts'
import { findAuthorities } from './authorities.ts'
import { buildEnvironment } from './environment.ts'
import { readGitSettings } from './git-settings.ts'
import { parseLimits } from './parse-limits.ts'
import { parsePublish } from './parse-publish.ts'
import { parseWorkspace } from './parse-workspace.ts'
import type { RunRequest } from './run-request.ts'

/** No sandbox could be made; the command was not run. */
const EXIT_NO_SANDBOX = 125
const WAITING = 'palisade: the agent starts other sandboxes; waiting for a turn\n'

export type SandboxIo = AgentIo &
  Pick<Io, 'replaceProcess' | 'captureProgram' | 'home' | 'platform' | 'self' | 'stderr'>

/**
 * Asks the agent for a sandbox, and becomes the program that starts the command in it. Resolves to
 * an exit code only if that fails. Rejects with `CliError`.
 */
export async function runInSandbox(asked: RunRequest, io: SandboxIo): Promise<number> {
  if ((io.env['PALISADE_SANDBOX'] ?? '') !== '')
    throw refusal('sandboxes do not nest: this is a sandbox already; run the command itself')
  if (io.platform !== 'linux')
    throw refusal(
      `\`palisade run\` makes sandboxes on Linux only, and this is ${io.platform}; ` +
        '`palisade exec` applies the policy to programs that use a proxy',
    )
  const env = withoutNpmScript(io.env)
  const [request, git] = await Promise.all([
    withProfile(asked, env, io),
    readGitSettings({ captureProgram: io.captureProgram, cwd: io.cwd, env, home: io.home }),
  ])
  const { command } = request
  if (command === null)
    throw refusal('no command is named; write `palisade run -- COMMAND`, or one in the profile')
  const environment = buildEnvironment({
    env,
    asked: request.env,
    home: io.home,
    proxy: SANDBOX_PROXY,
    identity: git.identity,
    own: new Map([
      ['PALISADE_SANDBOX', '1'],
      ['PALISADE_AGENT_URL', SANDBOX_AGENT],
    ]),
  })
  if (environment.kind === 'invalid') throw refusal(environment.problems)
  const limits = parseLimits(request.limit)
  if (limits.kind === 'invalid') throw refusal(limits.problems)
  const publish = parsePublish(request.publish)
  if (publish.kind === 'invalid') throw refusal(publish.problems)
  const texts = request.workspace.length === 0 ? ['.'] : request.workspace
  const { strict } = request
  const directory = calledDirectory(io)
  const answer = await reachAgent(io, EXIT_NO_SANDBOX, (agent) => {
    const wanted = {
      workspaces: texts.map((text) => parseWorkspace(text, directory)),
      directory,
      variables: Object.fromEntries(environment.variables),
      authorities: findAuthorities(
        { ...(git.authorities === null ? {} : { GIT_SSL_CAINFO: git.authorities }), ...env },
        io.cwd,
      ).filter(({ variable }) => !environment.variables.has(variable)),
      ...(git.obeyed.length === 0 ? {} : { guarded: [...git.obeyed] }),
      limits: limits.limits,
      ...(publish.ports.length === 0 ? {} : { publish: [...publish.ports] }),
      ...(strict === null
        ? {}
        : { strict: { after: reviewCommand(strict, agent, { env, self: io.self }) } }),
    }
    return startSandbox(agent, wanted, { onWait: () => void io.stderr.write(WAITING) })
  })
  if (answer.kind === 'refused') throw refusal(answer.message)
  const { program, arguments: words, warnings } = answer.launch
  for (const warning of warnings) io.stderr.write(`${printable(`palisade: ${warning}`)}\n`)
  return io.replaceProcess(program, [...words, ...asProgram(command)])
}

/** The working directory by the path of the shell, which may lead through symbolic links. */
function calledDirectory({ cwd, env }: Pick<SandboxIo, 'cwd' | 'env'>): string {
  const { PWD: path = '' } = env
  try {
    return isAbsolute(path) && realpathSync(path) === cwd ? path : cwd
  } catch {
    return cwd
  }
}

/** Loads what reads profiles only for a run that names one. */
async function withProfile(
  asked: RunRequest,
  env: SandboxIo['env'],
  io: SandboxIo,
): Promise<RunRequest> {
  if (asked.profile === null) return asked
  const { applyProfile } = await import('./profile/apply-profile.ts')
  const { cwd, home } = io
  const uid = process.getuid?.() ?? -1
  const applied = await applyProfile(asked.profile, asked, { cwd, home, env, uid })
  if (applied.kind === 'refused') throw refusal(applied.problems)
  io.stderr.write(`${applied.notice}\n`)
  return applied.request
}

/** Variables of the person that the review needs. The command line of a process is not secret. */
const REVIEW_VARIABLES = ['HOME', 'PATH', 'TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR'] as const

/** The command that shows the changes. It takes the id of the sandbox and the exit code. */
function reviewCommand(
  { apply }: { readonly apply: boolean },
  address: AgentAddress,
  { env, self }: Pick<SandboxIo, 'env' | 'self'>,
): string[] {
  const variables = REVIEW_VARIABLES.flatMap((name) =>
    env[name] === undefined ? [] : [`${name}=${env[name]}`],
  )
  // The variable of a port is set in sandboxes only, which do not nest.
  const agent = 'socketPath' in address ? [`PALISADE_AGENT_SOCKET=${address.socketPath}`] : []
  const words = ['staged', 'review', ...(apply ? ['--apply'] : [])]
  return ['/usr/bin/env', '-i', ...variables, ...agent, ...self, ...words]
}

function refusal(lines: string | readonly string[]): CliError {
  return new CliError('ERR_AGENT', EXIT_NO_SANDBOX, lines)
}

/** env(1), which starts the command, takes a name with `=` for a variable. */
function asProgram(command: readonly [string, ...string[]]): readonly string[] {
  return command[0].includes('=') ? ['/bin/sh', '-c', 'exec "$@"', 'sh', ...command] : command
}
