import { ClientError, type OrganizationClient } from '@palisade/client'
import { nearestName } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findTeam } from '../../lookup/find-team.ts'
import { CliError, usageError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'

interface JsonOption {
  readonly json?: true
}

/** `palisade team add|remove|approvers` */
export function addTeamMemberCommands(team: Command, context: RunContext): void {
  addMembership(team, context)
  addApprovers(team, context)
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
