import type { Command } from 'commander'
import {
  connectOrganization,
  connectPerson,
  PASSWORD_OPTION,
  type PasswordOption,
} from '../../account/connect-server.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatTable } from '../../terminal/table.ts'

interface JsonOption {
  readonly json?: true
}

/** `palisade invitation list|accept|decline` */
export function addInvitationCommands(program: Command, context: RunContext): void {
  const invitation = program
    .command('invitation')
    .summary('answer invitations to organizations')
    .description('Answer your invitations to organizations.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade invitation list
  palisade invitation accept acme`,
    )
  invitation
    .command('list')
    .description('List your pending invitations.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade invitation list')
    .action(async (options: JsonOption) => {
      const data = await (await connectOrganization(context.io)).invitations.list()
      await present(context, options.json, { data }, () =>
        formatTable(
          ['ORGANIZATION', 'ROLE', 'INVITED BY'],
          data.map(({ org, role, invited_by }) => [org, role, invited_by]),
          context.style,
        ),
      )
    })
  invitation
    .command('accept')
    .description('Become a member of the organization.')
    .argument('<org>', 'name of the organization')
    .option(...PASSWORD_OPTION)
    .option('--json', 'print the member as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade invitation accept acme')
    .action(async (org: string, options: JsonOption & PasswordOption) => {
      const member = await (
        await connectPerson(context.io, options.passwordStdin)
      ).invitations.accept(org)
      await present(context, options.json, member, () =>
        context.style.plain(`you are now ${member.role} of ${org}`).concat('\n'),
      )
    })
  invitation
    .command('decline')
    .description('Decline an invitation; the organization may invite you again.')
    .argument('<org>', 'name of the organization')
    .option(...PASSWORD_OPTION)
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade invitation decline acme')
    .action(async (org: string, options: JsonOption & PasswordOption) => {
      await (await connectPerson(context.io, options.passwordStdin)).invitations.decline(org)
      await present(context, options.json, { declined: org }, () =>
        context.style.plain(`declined the invitation to ${org}`).concat('\n'),
      )
    })
}
