import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AgentError } from '../host/errors.ts'
import { claimData, installFiles, removeFiles, type ServiceChanges } from './install-service.ts'
import {
  planSystemService,
  planUserService,
  serviceFiles,
  SYSTEM_SOCKET,
  type ServiceFile,
  type ServicePlan,
} from './service-files.ts'
import { findDistrust, pinPrograms } from './trusted-program.ts'

/** The process that runs the command. */
export interface ServiceEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  /** Id of the user. */
  readonly uid: number
  /** Whether systemd runs this machine, as sd_booted(3) tells. */
  readonly isSystemdRunning: boolean
  /** Node with its options, and the program of this agent. */
  readonly command: readonly string[]
  readonly print: (text: string) => void
}

export interface ServiceOptions {
  readonly user?: true
  readonly system?: true
  readonly dataDir?: string
  readonly print?: true
  readonly purge?: true
}

const EXIT_EXAMPLES = `
Neither command starts or stops a service; each prints the commands that come next.

Examples:
  palisade-agent install --user
  sudo palisade-agent install --system
  palisade-agent install --system --print
  palisade-agent uninstall --user --purge`

/** `palisade-agent install` and `palisade-agent uninstall` */
export function addServiceCommands(program: Command, from: ServiceEnvironment): void {
  withOptions(program.command('install'))
    .summary('write a systemd unit for this agent')
    .description(
      'Write a systemd unit that starts this agent, and the pages of the manual. A unit that was ' +
        'changed by hand is left alone.',
    )
    .option('--print', 'print the files and write nothing')
    .addHelpText('after', EXIT_EXAMPLES)
    .action((options: ServiceOptions) => install(options, from))
  withOptions(program.command('uninstall'))
    .summary('remove the systemd unit of this agent')
    .description('Remove the files that `install` wrote. The data of the agent stays.')
    .option('--purge', 'also remove the data of the agent: its key, policies and records')
    .addHelpText('after', EXIT_EXAMPLES)
    .action((options: ServiceOptions) => uninstall(options, from))
}

function withOptions(command: Command): Command {
  return command
    .option('--user', 'a service of this user, which can make sandboxes')
    .option('--system', 'a service of root for all users, whose key and policies they cannot reach')
    .option('--data-dir <directory>', 'with --user: where the agent keeps its files, in DIR/agent')
}

/** Rejects with `ERR_SERVICE`. */
export async function install(options: ServiceOptions, from: ServiceEnvironment): Promise<void> {
  const asked = readPlan(options, from)
  const plan =
    asked.kind === 'system' ? { ...asked, command: await pinPrograms(asked.command) } : asked
  const files = await serviceFiles(plan)
  if (options.print === true) return from.print(files.map(formatFile).join('\n'))
  requireRoot(plan, from)
  if (!from.isSystemdRunning) {
    const [unit] = files
    if (unit !== undefined) from.print(formatFile(unit))
    throw new AgentError('ERR_SERVICE', [
      'systemd does not run this machine, so no unit was written; it is printed above for ' +
        'another service manager',
    ])
  }
  if (plan.kind === 'system') await requireTrusted(plan)
  const changes = await installFiles(files)
  from.print(`${formatChanges(changes)}\nnext:\n${formatCommands(commandsToStart(plan))}`)
}

/** Rejects with `ERR_SERVICE` or `ERR_LOCKED`. */
export async function uninstall(options: ServiceOptions, from: ServiceEnvironment): Promise<void> {
  const plan = readPlan(options, from)
  requireRoot(plan, from)
  const files = await serviceFiles(plan)
  // Claimed first: when the data has to stay, its service stays too.
  const purged = options.purge === true ? await claimData(plan) : null
  let changes: ServiceChanges
  try {
    changes = await removeFiles(files)
    await purged?.remove()
  } finally {
    purged?.release()
  }
  const kept = join(plan.dataDir, 'agent')
  const data = existsSync(kept) ? `kept       ${kept}\n` : ''
  const lost = purged === null ? '' : `removed    ${purged.path}\n`
  const control = plan.kind === 'user' ? 'systemctl --user' : 'systemctl'
  const next = [`${control} disable --now palisade-agent`, `${control} daemon-reload`]
  from.print(`${formatChanges(changes)}${data}${lost}\nnext:\n${formatCommands(next)}`)
}

/** Throws `ERR_SERVICE` for options that contradict each other. */
function readPlan(
  options: ServiceOptions,
  { env, cwd, home, command }: ServiceEnvironment,
): ServicePlan {
  if ((options.user === true) === (options.system === true))
    throw new AgentError('ERR_SERVICE', ['write either `--user` or `--system`'])
  const given = options.dataDir ?? ''
  if (options.user === true) {
    const dataDir = given || env['PALISADE_DATA_DIR'] || null
    const userPaths = { home, env }
    return planUserService(command, dataDir === null ? null : resolve(cwd, dataDir), userPaths)
  }
  if (given === '') return planSystemService(command)
  throw new AgentError('ERR_SERVICE', [
    '`--data-dir` is for `--user`; the system service keeps its files in /var/lib/palisade',
  ])
}

function requireRoot({ kind }: ServicePlan, { uid }: ServiceEnvironment): void {
  if (kind === 'user' || uid === 0) return
  throw new AgentError('ERR_SERVICE', ['the system service belongs to root; run this as root'])
}

/** An option of Node may name a module in many ways, so only numbers are taken over. */
async function requireTrusted({ command }: ServicePlan): Promise<void> {
  const option = command.find((word) => word.startsWith('-') && !/^--[a-z0-9-]+=\d+$/.test(word))
  if (option !== undefined)
    throw new AgentError('ERR_SERVICE', [
      `root would start Node with \`${option}\`, which may load a program that others can ` +
        'replace; run this without it, and set it in a drop-in',
    ])
  const paths = command.filter((word) => word.startsWith('/'))
  const found = await Promise.all(paths.map((path) => findDistrust(path)))
  const problems = found.filter((problem) => problem !== null)
  if (problems.length === 0) return
  throw new AgentError(
    'ERR_SERVICE',
    [...new Set(problems)].map(
      (problem) =>
        `root would run a program that others can replace: ${problem}; ` +
        'install Palisade in a directory of root, such as /opt/palisade',
    ),
  )
}

function commandsToStart({ kind, dataDir }: ServicePlan): readonly string[] {
  const variable = `PALISADE_DATA_DIR=${quoteShell(dataDir)}`
  if (kind === 'user')
    return [
      `export ${variable}`,
      'palisade enrol              # unless this directory is enrolled',
      'systemctl --user daemon-reload',
      'systemctl --user enable --now palisade-agent',
      'palisade status',
    ]
  return [
    `${variable} palisade enrol   # as root, unless it is enrolled`,
    'systemctl daemon-reload',
    'systemctl enable --now palisade-agent',
    `export PALISADE_AGENT_SOCKET=${SYSTEM_SOCKET}   # each user, such as in /etc/profile.d`,
    'palisade status',
  ]
}

function quoteShell(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

function formatFile({ path, text }: ServiceFile): string {
  return `==> ${path}\n${text}`
}

function formatCommands(commands: readonly string[]): string {
  return commands.map((each) => `  ${each}\n`).join('')
}

function formatChanges({ written, removed, kept }: ServiceChanges): string {
  const lines = [
    ...written.map((path) => `wrote      ${path}\n`),
    ...removed.map((path) => `removed    ${path}\n`),
    ...kept.map((path) => `unchanged  ${path}\n`),
  ]
  return lines.length === 0 ? 'nothing was installed\n' : lines.join('')
}
