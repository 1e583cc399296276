import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { resetPasswordCommand, revokeUserCommand, type UserOptions } from '../user.ts'

/** `user revoke|reset-password`. */
export function addUser(program: Command): void {
  const user = program.command('user').description('emergency measures for users')
  user
    .command('revoke')
    .description('revoke all credentials of a user at once')
    .argument('<user>', 'name of the user')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Revokes the user's password, sessions and personal tokens, the organization tokens that the user
created, all tokens created with these, and the user's machines in all organizations. The user stays
a member. End sign-in through PALISADE_OIDC_ISSUER at the issuer, or by removing the user from the
organization.

Examples:
  palisade-server user revoke bob`,
    )
    .action((name: string, options: UserOptions) =>
      revokeUserCommand(readProcessConfig(), systemSources(), name, options),
    )
  user
    .command('reset-password')
    .description('give a user a new password, and print it once')
    .argument('<user>', 'name of the user')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Ends the sessions of the old password. Tokens stay valid; \`user revoke\` revokes them.

Examples:
  palisade-server user reset-password bob`,
    )
    .action((name: string, options: UserOptions) =>
      resetPasswordCommand(readProcessConfig(), systemSources(), name, options),
    )
}
