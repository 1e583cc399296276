import { ClientError, type OrganizationClient } from '@palisade/client'
import { DEFAULT_DECISIONS, nearestName, type DefaultDecision, type Team } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { present, type RunContext } from '../run-context.ts'
import { formatTable } from '../terminal/table.ts'
import { requireConfirmation } from './require-confirmation.ts'
import { notFound } from './find-policy.ts'
import { WIDE } from '../terminal/style.ts'

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
  addList(team, context)
  addCreate(team, context)
  addSet(team, context)
  addDelete(team, context)
  addMembership(team, context)
  addApprovers(team, context)
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

function addMembership(team: Command, context: RunContext): void {
  for (const [verb, description, done] of [
    ['add', 'Add members to a team.', 'added to'],
    ['remove', 'Remove members from a team.', 'removed from'],
  ] as const)
    team
      .command(verb)
      .description(`${description} Takes effect on their machines within five minutes.`)
      .argument('<team>', 'id or name')
      .argument('<users...>', 'names of members')
      .option('--json', 'print one JSON object')
      .addHelpText('after', `\nExamples:\n  palisade team ${verb} research bob carol`)
      .action(async (idOrName: string, users: string[], options: JsonOption) => {
        const { organization } = await connectOrganization(context.io)
        const found = await findTeam(organization, idOrName)
        for (const user of users)
          await withKnownMember(organization, user, () =>
            verb === 'add'
              ? organization.teams.addMember(found.id, user)
              : organization.teams.removeMember(found.id, user),
          )
        await present(context, options.json, { team: found, users }, () =>
          context.style.plain(`${users.join(', ')} ${done} team \`${found.name}\``).concat('\n'),
        )
      })
}

function addApprovers(team: Command, context: RunContext): void {
  team
    .command('approvers')
    .description('List, add or remove the members who answer access requests of a team.')
    .argument('<team>', 'id or name')
    .argument('[change]', '`add` or `rm`')
    .argument('[users...]', 'names of members')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Owners and editors answer all requests. An approver need not be in the team.

Examples:
  palisade team approvers research
  palisade team approvers research add bob
  palisade team approvers research rm bob`,
    )
    .action(
      async (
        idOrName: string,
        change: string | undefined,
        users: string[],
        options: JsonOption,
      ) => {
        if (change !== undefined && ((change !== 'add' && change !== 'rm') || users.length === 0))
          throw usageError('write `add` or `rm` and the names of members after the team')
        const { organization } = await connectOrganization(context.io)
        const { teams } = organization
        const found = await findTeam(organization, idOrName)
        for (const user of users)
          await withKnownMember(organization, user, () =>
            change === 'add'
              ? teams.addApprover(found.id, user)
              : teams.removeApprover(found.id, user),
          )
        const approvers = await teams.approvers(found.id)
        await present(context, options.json, { team: found, approvers }, () =>
          context.style
            .plain(`approvers of team \`${found.name}\`: ${approvers.join(', ') || 'none'}`)
            .concat('\n'),
        )
      },
    )
}

/** The server's 404 does not say which name is unknown. */
async function withKnownMember(
  organization: OrganizationClient,
  user: string,
  change: () => Promise<void>,
): Promise<void> {
  try {
    await change()
  } catch (error) {
    if (!(error instanceof ClientError) || error.api?.status !== 404) throw error
    const names = (await organization.members.list()).map(({ username }) => username)
    if (names.includes(user)) throw error
    const near = nearestName(user, names)
    const mend =
      near === null ? `\`palisade member add ${user}\` adds one` : `did you mean \`${near}\`?`
    throw new CliError('ERR_NOT_FOUND', EXIT.failed, `no member \`${user}\`; ${mend}`)
  }
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

/** Finds a team by id, otherwise by name. Throws `ERR_NOT_FOUND`, exit 1. */
async function findTeam(organization: OrganizationClient, idOrName: string): Promise<Team> {
  const teams = await organization.teams.list()
  const wanted = idOrName.normalize('NFC').trim()
  // The id takes precedence: a team named like another's id must not be found instead.
  const found =
    teams.find(({ id }) => id === wanted.toLowerCase()) ?? teams.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  throw notFound(
    'team',
    idOrName,
    teams.map(({ name }) => name),
  )
}
