import { ClientError } from '@palisade/client'
import type { EffectivePolicyResponse } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { exitCodeOf } from '../../check/check-command.ts'
import { formatDecision } from '../../check/format-decision.ts'
import { ACTION_NAMES, parseTarget } from '../../check/target.ts'
import { readTeamNames, type TeamNames } from '../../lookup/find-team.ts'
import { CliError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatPolicy } from './format-policy.ts'

interface JsonOption {
  readonly json?: true
}

interface CheckOptions extends JsonOption {
  readonly user?: string
  readonly address?: string
}

/** `palisade policy check|effective`: the effect of the server's policies on a user. */
export function addWhatIfCommands(policy: Command, context: RunContext): void {
  addCheck(policy, context)
  addEffective(policy, context)
}

function addCheck(policy: Command, context: RunContext): void {
  policy
    .command('check')
    .description("Ask the server how a user's machine would decide under the newest policies.")
    .argument('<action>', ACTION_NAMES)
    .argument('<target>', 'host:port or path')
    .option('--user <name>', 'user of the machine (default: you)')
    .option('--address <ip>', 'address that the host resolves to')
    .option('--json', 'print the decision object')
    .addHelpText(
      'after',
      `
Asking for others needs the permission \`policies:read\`; for yourself, membership is enough.

Exit codes: 0 allowed, 1 denied, 2 not evaluated, 3 depends on an unknown address

Examples:
  palisade policy check --user bob connect:tcp registry.example.com:443`,
    )
    .action(async (action: string, target: string, options: CheckOptions) => {
      const request = { ...parseTarget(action, target, options.address) }
      const { organization, username } = await connectOrganization(context.io)
      const user = options.user ?? username
      const answer = await organization.check({ user, request })
      context.exit(exitCodeOf(answer))
      await present(context, options.json, answer, () =>
        formatDecision(answer, { governed: true, style: context.style }),
      )
    })
}

function addEffective(policy: Command, context: RunContext): void {
  policy
    .command('effective')
    .description('Show the policies that apply to a user, with their rules.')
    .option('--user <name>', 'user that the policies apply to (default: you)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Asking for others needs the permission \`policies:read\`; for yourself, membership is enough.

Examples:
  palisade policy effective
  palisade policy effective --user bob --json`,
    )
    .action(async (options: JsonOption & { readonly user?: string }) => {
      const { organization, username } = await connectOrganization(context.io)
      const effective = await organization.effectivePolicy(options.user ?? username)
      const { policies } = effective
      const teams = await readTeamNames(organization, options.json === true ? [] : policies)
      await present(context, options.json, effective, () =>
        formatEffective(effective, teams, options.user ?? username, context),
      )
    })
}

/** Adds to a 403 the command that a member without permissions can use instead. */
export async function withOwnPolicies<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ClientError) || error.api?.status !== 403) throw error
    throw new CliError(
      'ERR_NOT_FOUND',
      EXIT.failed,
      `${error.message}; \`palisade policy effective\` shows the policies that apply to you`,
      { cause: error },
    )
  }
}

function formatEffective(
  { revision, policies, default: standard }: EffectivePolicyResponse,
  teams: TeamNames,
  user: string,
  { style, io }: RunContext,
): string {
  const rest =
    standard === 'observe'
      ? style.warning('default observe: a request that no rule matches is allowed and recorded\n')
      : ''
  if (policies.length === 0)
    return standard === 'observe'
      ? `${style.plain(`no policy applies to ${user}`)}\n${rest}`
      : style.plain(`no policy applies to ${user}: everything is denied`).concat('\n')
  const shown = policies.map((policy) => formatPolicy(policy, { teams, nowMs: io.now() }, style))
  return `${shown.join('\n')}\n${rest}${style.quiet(`revision ${revision}`)}\n`
}
