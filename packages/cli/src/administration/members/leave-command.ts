import type { Command } from 'commander'
import {
  connectPerson,
  PASSWORD_OPTION,
  type PasswordOption,
} from '../../account/connect-server.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'

interface LeaveOptions extends PasswordOption {
  readonly yes?: true
  readonly json?: true
}

/** `palisade member leave`: the act of a person, who may have no permission. */
export function addLeaveCommand(member: Command, context: RunContext): void {
  member
    .command('leave')
    .description('Leave the organization; your machines there are revoked.')
    .option('--yes', 'do not ask')
    .option(...PASSWORD_OPTION)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The last owner cannot leave. Leaving needs a token with all of your permissions in every
organization, or your password. A plain member has no permissions for a token: use the password.

Examples:
  palisade member leave
  PALISADE_ORG=acme palisade member leave --yes
  palisade member leave --yes --password-stdin < password`,
    )
    .action(async (options: LeaveOptions) => {
      const { io } = context
      const { org, username, organization } = await connectPerson(io, options.passwordStdin)
      const question = `Leave ${org} and revoke your machines there?`
      await requireConfirmation(context, options.yes, {
        question,
        undone: 'you are still a member',
      })
      await organization.members.remove(username)
      await present(context, options.json, { left: org, username }, () =>
        context.style.plain(`left ${org}`).concat('\n'),
      )
    })
}
