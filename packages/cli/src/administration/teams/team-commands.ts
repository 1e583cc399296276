import { DEFAULT_DECISIONS, type DefaultDecision, type Team } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findTeam } from '../../lookup/find-team.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { WIDE } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'
import { addTeamMemberCommands } from './team-member-commands.ts'

interface JsonOption {
  readonly json?: true
}

interface DeleteOptions extends JsonOption {
  readonly detach?: true
  readonly deleteSole?: true
  readonly yes?: true
}

interface SetOptions extends JsonOption {
  readonly default?: DefaultDecision | 'none'
}

/** `palisade team list|create|set|delete|add|remove|approvers` */
export function addTeamCommands(program: Command, context: RunContext): void {
  const team = program
    .command('team')
    .summary('teams that policies apply to')
    .description('Create teams and manage their members.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade team create research
  palisade team add research bob carol
  palisade team list`,
    )
  addList(team, context)
  addCreate(team, context)
  addSet(team, context)
  addDelete(team, context)
  addTeamMemberCommands(team, context)
}

function addList(team: Command, context: RunContext): void {
  team
    .command('list')
    .description('List all teams with their members.')
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade team list')
    .action(async (options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const teams = await organization.teams.list()
      const members = await organization.members.list()
      const data = teams.map((one) => ({
        ...one,
        members: members.filter(({ teams: ids }) => ids.includes(one.id)).map((m) => m.username),
      }))
      await present(context, options.json, { data }, () => formatTeams(data, context))
    })
}

function addCreate(team: Command, context: RunContext): void {
  team
    .command('create')
    .description('Create a team without members.')
    .argument('<name>', 'unique in the organization')
    .option('--json', 'print the team as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade team create research')
    .action(async (name: string, options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const created = await organization.teams.create(name)
      await present(context, options.json, created, () =>
        context.style.plain(`created team \`${created.name}\` (${created.id})`).concat('\n'),
      )
    })
}

function addSet(team: Command, context: RunContext): void {
  team
    .command('set')
    .description('Change settings of a team.')
    .argument('<team>', 'id or name')
    .addOption(
      new Option(
        '--default <decision>',
        'for requests of its members that no rule matches: enforce denies, observe allows',
      ).choices([...DEFAULT_DECISIONS, 'none']),
    )
    .option('--json', 'print the team as the API returns it')
    .addHelpText(
      'after',
      `
Where the organization and teams of a user differ, enforce wins. A team with \`none\` is left out.

Examples:
  palisade team set research --default observe
  palisade team set research --default none`,
    )
    .action(async (idOrName: string, options: SetOptions) => {
      const { default: chosen } = options
      if (chosen === undefined) throw usageError('nothing to change; write `--default observe`')
      const { organization } = await connectOrganization(context.io)
      const found = await findTeam(organization, idOrName)
      const changed = await organization.teams.update(found.id, {
        default: chosen === 'none' ? null : chosen,
      })
      await present(context, options.json, changed, () =>
        context.style
          .plain(`team \`${changed.name}\`: default ${changed.default ?? 'none of its own'}`)
          .concat('\n'),
      )
    })
}

function addDelete(team: Command, context: RunContext): void {
  team
    .command('delete')
    .description('Delete a team.')
    .argument('<team>', 'id or name')
    .option('--detach', 'remove it from the policies that also have other teams')
    .option('--delete-sole', 'with --detach: delete the policies that have no other team')
    .option('--yes', 'do not ask')
    .option('--json', 'print the deleted team')
    .addHelpText(
      'after',
      `
Without --detach a team that policies use is not deleted, and the error names the policies. Deleting
the last team of a policy never makes the policy apply to everybody.

Examples:
  palisade team delete research
  palisade team delete research --detach --delete-sole --yes`,
    )
    .action(async (idOrName: string, options: DeleteOptions) => {
      const { organization } = await connectOrganization(context.io)
      const found = await findTeam(organization, idOrName)
      const question = `Delete team \`${found.name}\` (${found.id})?`
      await requireConfirmation(context, options.yes, { question, undone: 'nothing was deleted' })
      await organization.teams.delete(found.id, {
        ...(options.detach === true ? { detach: 'policies' } : {}),
        ...(options.deleteSole === true ? { sole: 'delete' } : {}),
      })
      await present(context, options.json, found, () =>
        context.style.plain(`deleted team \`${found.name}\` (${found.id})`).concat('\n'),
      )
    })
}

function formatTeams(
  teams: readonly (Team & { readonly members: readonly string[] })[],
  { style }: RunContext,
): string {
  if (teams.length === 0) return 'no teams; write `palisade team create NAME`\n'
  const hasDefaults = teams.some((team) => team.default !== undefined)
  return formatTable(
    ['TEAM', 'MEMBERS', ...(hasDefaults ? ['DEFAULT'] : []), { wide: 'ID' }],
    teams.map(({ name, members, id, default: chosen = '' }) => [
      name,
      members.join(', '),
      ...(hasDefaults ? [chosen] : []),
      id,
    ]),
    style,
  )
}
