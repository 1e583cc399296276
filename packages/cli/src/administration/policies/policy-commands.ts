import {
  POLICY_MODES,
  type DetailedPolicy,
  type DetailedPolicySummary,
  type PolicyMode,
} from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findPolicy } from '../../lookup/find-policy.ts'
import { readTeamNames, resolveTeams } from '../../lookup/find-team.ts'
import { addPolicyLsCommand } from '../../machine/rules-command.ts'
import { CliError, usageError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { count } from '../../terminal/count.ts'
import { printable } from '../../terminal/printable.ts'
import { WIDE } from '../../terminal/style.ts'
import { formatPolicy, formatPolicyList } from './format-policy.ts'
import { addPolicyChangeCommands } from './policy-change-commands.ts'
import { addWhatIfCommands, withOwnPolicies } from './what-if-commands.ts'

interface JsonOption {
  readonly json?: true
}

interface CreateOptions extends JsonOption {
  readonly team?: readonly string[]
  readonly mode?: PolicyMode
}

/** `palisade policy list|show|create|update|rename|teams|delete|check|effective` */
export function addPolicyCommands(program: Command, context: RunContext): void {
  const policy = program
    .command('policy')
    .summary('read and write policies')
    .description("Read and write the organization's policies.")
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade policy list
  palisade policy create web
  palisade policy show web
  palisade policy check --user bob connect:tcp registry.example.com:443`,
    )
  addList(policy, context)
  addPolicyLsCommand(policy, context)
  addShow(policy, context)
  addCreate(policy, context)
  addPolicyChangeCommands(policy, context)
  addDelete(policy, context)
  addWhatIfCommands(policy, context)
}

function addList(policy: Command, context: RunContext): void {
  policy
    .command('list')
    .summary('list all policies of the organization')
    .description(
      'List all policies of the organization, as the server has them. ' +
        '`palisade rules` lists the rules that this machine enforces.',
    )
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade policy list\n  palisade policy list --json')
    .action(async (options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const data: DetailedPolicySummary[] = []
      await withOwnPolicies(async () => {
        for await (const summary of organization.policies.list()) data.push(summary)
      })
      const teams = await readTeamNames(organization, options.json === true ? [] : data)
      await present(context, options.json, { data }, () =>
        formatPolicyList(data, teams, context.style),
      )
    })
}

function addShow(policy: Command, context: RunContext): void {
  policy
    .command('show')
    .description('Show one policy with its rules.')
    .argument('<policy>', 'id or name')
    .option(...WIDE)
    .option('--json', 'print the policy as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade policy show "package registry"')
    .action(async (idOrName: string, options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const found = await findPolicy(organization, idOrName)
      const teams = await readTeamNames(organization, options.json === true ? [] : [found])
      await present(context, options.json, found, () =>
        formatPolicy(found, { teams, nowMs: context.io.now() }, context.style),
      )
    })
}

function addCreate(policy: Command, context: RunContext): void {
  policy
    .command('create')
    .description('Create a policy without rules.')
    .argument('<name>', 'unique in the organization')
    .option(
      '--team <team>',
      'id or name of a team that the policy applies to; repeat for more (default: everybody)',
      repeat,
    )
    .addOption(
      new Option('--mode <mode>', 'shadow: not enforced, shows where it would differ').choices(
        POLICY_MODES,
      ),
    )
    .option('--json', 'print the policy as the API returns it')
    .addHelpText(
      'after',
      `
Examples:
  palisade policy create "package registry"
  palisade policy create notebooks --team research
  palisade policy create "stricter web" --mode shadow`,
    )
    .action(async (name: string, options: CreateOptions) => {
      const { organization } = await connectOrganization(context.io)
      const { team, mode } = options
      const scope =
        team === undefined ? {} : { scope: { teams: await resolveTeams(organization, team) } }
      const created = await organization.policies.create({
        name,
        ...scope,
        ...(mode === undefined ? {} : { mode }),
      })
      await present(context, options.json, created, () =>
        printable(`created policy \`${created.name}\` (${created.id})`).concat('\n'),
      )
    })
}

function addDelete(policy: Command, context: RunContext): void {
  policy
    .command('delete')
    .description('Delete a policy and all its rules.')
    .argument('<policy>', 'id or name')
    .option('--yes', 'do not ask')
    .option('--json', 'print the deleted policy')
    .addHelpText(
      'after',
      `
Within five minutes, machines deny the requests that the policy allowed. Those that it denied may
become allowed.

Examples:
  palisade policy delete "package registry"
  palisade policy delete pol_01jd4t8k9qg3zc7m5x2w0vhbnrae --yes`,
    )
    .action(async (idOrName: string, options: JsonOption & { readonly yes?: true }) => {
      if (options.yes !== true && context.io.prompts === null)
        throw usageError('not a terminal; add `--yes` to skip the question')
      const { organization } = await connectOrganization(context.io)
      const found = await findPolicy(organization, idOrName)
      if (options.yes !== true) await confirmDeletion(context, found)
      const deleted = await organization.policies.delete(found.id)
      await present(context, options.json, deleted, () =>
        printable(`deleted policy \`${deleted.name}\` (${deleted.id})`).concat('\n'),
      )
    })
}

/** Collects a repeated option without splitting it: a team's name may contain a comma. */
function repeat(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}

async function confirmDeletion({ io }: RunContext, policy: DetailedPolicy): Promise<void> {
  const rules = policy.allowlist_v0?.rules.length ?? 0
  const question = `Delete policy \`${policy.name}\` (${policy.id}) with ${count(rules, 'rule')}?`
  const sure = await io.prompts?.confirm(printable(question))
  if (sure !== true) throw new CliError('ERR_CANCELLED', EXIT.failed, 'nothing was deleted')
}
