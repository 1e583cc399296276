import { isAction, isNetworkAction } from '@palisade/policy-core'
import {
  ACCESS_SECONDS,
  type AccessRequest,
  type CreateAccessRequest,
  type LocalAccessResult,
} from '@palisade/protocol'
import type { Command } from 'commander'
import { askAgent } from '../../agent/ask-agent.ts'
import { findLastDenial } from '../../agent/denials.ts'
import { ACTION_NAMES, parseTarget } from '../../check/target.ts'
import { formatDuration, parseDuration } from '../../options/duration.ts'
import { CliError, usageError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { awaitAnswer, type Awaited } from './await-answer.ts'
import { findStandingAllow, formatStandingAllow } from './find-standing-allow.ts'
import { formatRequests } from './format-request.ts'

const DEFAULT_DURATION = '8h'
const LIMITS = { least: ACCESS_SECONDS.min, most: ACCESS_SECONDS.max }

interface RequestOptions {
  readonly action?: string
  readonly for: string
  readonly once?: true
  readonly reason?: string
  readonly wait?: true
  readonly json?: true
}

/** `palisade request` */
export function addRequestCommand(program: Command, context: RunContext): void {
  const request = program
    .command('request')
    .summary('ask the organization for access for a while')
    .description(
      'Ask the organization to allow one target for a while. Without a target: of the last denial.',
    )
    .helpCommand(false)
    .argument('[target]', '`HOST:PORT`, or a path that begins with `/` or `~/`')
    .option('--action <action>', `${ACTION_NAMES}; usually \`connect:tcp\` or \`read\``)
    .option('--for <duration>', 'such as `30m`, `8h` or `2d`', DEFAULT_DURATION)
    .option('--once', 'for one connection of this machine')
    .option('--reason <text>', 'why you need it, for the approver')
    .option('--wait', 'wait until the request is answered and the access is in force')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
An approver may narrow the access or shorten its time. A grant is for all machines of the user, and
opens no target that a rule denies, and no protected address. \`palisade status\` shows it.
No request is made for a target that a rule allows already.

Exit codes: 0 the server has the request; with --wait: the access is in force; or the target is
allowed already. 1 the request was
refused, or with --wait: rejected, or not in force on this machine. 2 wrong usage

Examples:
  palisade request registry.example.com:443 --reason 'release of the week' --wait
  palisade request --for 30m --reason 'try the new mirror'
  palisade request /srv/data/report.csv --action read --reason 'figures for the audit'
  palisade request '~/project/**' --reason 'the sandbox builds it'
  palisade request ls`,
    )
    .action(async (target: string | undefined, options: RequestOptions) =>
      requestAccess(context, target, options),
    )
  addLs(request, context)
}

function addLs(request: Command, context: RunContext): void {
  request
    .command('ls')
    .summary('list access requests')
    .description('List the access requests of the user of this machine, newest first.')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
In a sandbox only the requests of this sandbox are listed.

Exit codes: 0 listed, 1 the agent or the server did not answer

Examples:
  palisade request ls`,
    )
    .action(async ({ json }: { readonly json?: true }) => {
      const list = await askAgent(context.io, EXIT.failed, (agent) => agent.accessRequests())
      if (list.error !== null) throw refusalOf(list.error)
      await present(context, json, list, () =>
        formatRequests(list, context.io.now(), context.style),
      )
    })
}

async function requestAccess(
  context: RunContext,
  target: string | undefined,
  options: RequestOptions,
): Promise<void> {
  const { io } = context
  const { reason } = options
  if (reason === undefined || reason.trim() === '')
    throw usageError('say why with `--reason TEXT`, such as `--reason "release of the week"`')
  const duration_seconds = parseDuration(options.for, '--for', LIMITS)
  const asked = await (target === undefined
    ? askedBefore(context, options)
    : parseAsked(target, options))
  if (options.once === true && !isNetworkAction(asked.action))
    throw usageError(
      `\`--once\` is for connections, not for \`${asked.action}\`; give a short \`--for\` instead`,
    )
  const standing = await findStandingAllow(io, asked)
  if (standing !== null)
    return present(
      context,
      options.json,
      { outcome: 'allowed', request: null, error: null, decision: standing },
      () => formatStandingAllow(standing, context.style),
    )
  const body: CreateAccessRequest = {
    ...asked,
    duration_seconds,
    reason,
    ...(options.once === true ? { once: true } : {}),
  }
  const result = await askAgent(io, EXIT.failed, (agent) => agent.requestAccess(body))
  const request = requireRequest(result)
  if (options.wait !== true)
    return present(context, options.json, result, () => formatAsked(request))
  if (options.json !== true) io.stderr.write(formatAsked(request))
  const answer = await awaitAnswer(io, request)
  context.exit(answer.outcome === 'in_force' ? EXIT.ok : EXIT.failed)
  await present(context, options.json, answer, () => formatAwaited(answer, context))
}

type Asked = Pick<CreateAccessRequest, 'action' | 'resources'>

/** A path is read by default, and a host is connected to by TCP. */
function parseAsked(target: string, { action }: RequestOptions): Asked {
  const chosen = action ?? (/^~?\//.test(target) ? 'read' : 'connect:tcp')
  const { host, port, path } = parseTarget(chosen, target, undefined)
  if (!isAction(chosen)) throw usageError(`unknown action \`${chosen}\``)
  return { action: chosen, resources: [path ?? `${bracketed(host ?? '')}:${port}`] }
}

/** An access request for a name covers all its addresses, but the protected ones. */
async function askedBefore({ io }: RunContext, { action }: RequestOptions): Promise<Asked> {
  if (action !== undefined) throw usageError('`--action` needs a target')
  const denial = await askAgent(io, EXIT.failed, (agent) => findLastDenial(agent))
  const request = denial?.decision.request ?? null
  if (request === null)
    throw usageError('no denied target is recorded; name one, such as `example.com:443`')
  if (denial?.decision.reason !== 'default_deny')
    throw new CliError(
      'ERR_ACCESS',
      EXIT.failed,
      `a grant would not lift the last denial (${denial?.decision.reason}); run \`palisade why\``,
    )
  // Programs choose the paths that they are denied; the pattern would stand for others as well.
  if ('path' in request && request.path.includes('*'))
    throw usageError(
      `the last denied path \`${request.path}\` has a \`*\`, which stands for any name in a ` +
        'request; name the path, or its folder',
    )
  if ('path' in request) {
    // A workspace needs everything below it.
    const below = denial.protocol === 'mount' ? '/**' : ''
    return { action: request.action, resources: [`${request.path}${below}`] }
  }
  return { action: request.action, resources: [`${bracketed(request.host)}:${request.port}`] }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function requireRequest({ request, error }: LocalAccessResult): AccessRequest {
  if (request !== null) return request
  throw refusalOf(error ?? { code: 'internal', message: 'the agent gave no reason' })
}

function refusalOf({
  code,
  message,
}: {
  readonly code: string
  readonly message: string
}): CliError {
  return new CliError('ERR_ACCESS', EXIT.failed, `${message} (${code})`)
}

function formatAsked({ id, action, resources, duration_seconds }: AccessRequest): string {
  const duration = formatDuration(duration_seconds)
  return (
    `requested  ${action} ${resources.join(', ')} for ${duration} (${id})\n` +
    'an approver of the organization has to answer; `palisade request ls` shows the answer\n'
  )
}

function formatAwaited({ outcome, request, message }: Awaited, { style }: RunContext): string {
  const { grant, answer, decided_by } = request
  const by = decided_by === null ? '' : ` by ${decided_by}`
  const words = answer === null ? '' : `: ${answer}`
  if (outcome === 'in_force' && grant !== null)
    return (
      `${style.good('in force')}  ` +
      style.plain(
        `${grant.action} ${grant.resources.join(', ')} until ${grant.expires_at}${by}${words}`,
      ) +
      '\n'
    )
  return `${style.bad(outcome.replaceAll('_', ' '))}  ${style.plain(`${message}${by}${words}`)}\n`
}
