import type { CreatedMember, MadeTokensQuery, Member, Role, Team } from '@palisade/protocol'
import { ROLES } from '@palisade/protocol'
import { Argument, Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { readSecretLine } from '../../account/read-secret.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatTable } from '../../terminal/table.ts'
import { describeExceedingTokens, listExceedingTokens } from '../tokens/exceeding-tokens.ts'
import { addLeaveCommand } from './leave-command.ts'

interface JsonOption {
  readonly json?: true
}

const ROLE_HELP = `
Roles:
  owner    everything: policies, members, teams, tokens, settings
  editor   reads and writes policies
  auditor  reads policies and the history
  member   reads the policies that apply to them, and enrols machines of their own`

const REVOKE_TOKENS = [
  '--revoke-tokens',
  'also revoke the organization tokens that the member created',
] as const

const TOKENS_STAY = `
Without --revoke-tokens, organization tokens that the member created stay valid, because programs
that use them would stop. Tokens that exceed the permissions of their creator are listed;
\`palisade token list --organization\` shows them at any time.`

/** `palisade member list|add|role|remove|leave` */
export function addMemberCommands(program: Command, context: RunContext): void {
  const member = program
    .command('member')
    .summary('manage members and roles')
    .description('Manage the members of the organization and their roles.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade member list
  palisade member add bob --role editor --password-stdin < password
  palisade member remove bob`,
    )
  addList(member, context)
  addAdd(member, context)
  addRole(member, context)
  addRemove(member, context)
  addLeaveCommand(member, context)
}

function addList(member: Command, context: RunContext): void {
  member
    .command('list')
    .description('List all members with their roles and teams.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade member list')
    .action(async (options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const data = await organization.members.list()
      const teams = options.json === true ? [] : await organization.teams.list()
      await present(context, options.json, { data }, () => formatMembers(data, teams, context))
    })
}

function addAdd(member: Command, context: RunContext): void {
  member
    .command('add')
    .description(
      'Add a member, and create the user if the name is new. A user of another organization is ' +
        'invited.',
    )
    .argument('<user>', 'name to sign in with')
    .addOption(
      new Option('--role <role>', 'role of the member')
        .choices(ROLES)
        .default('member' satisfies Role),
    )
    .option('--password-stdin', 'read the password of a new user from standard input')
    .option('--json', 'print the member as the API returns it')
    .addHelpText(
      'after',
      `${ROLE_HELP}

A new user without a password cannot sign in with one; machines can be enrolled for that user.

Examples:
  palisade member add bob --role editor --password-stdin < password
  palisade member add build-bot`,
    )
    .action(
      async (
        username: string,
        options: JsonOption & { readonly role: Role; readonly passwordStdin?: true },
      ) => {
        const { role, json } = options
        const password =
          options.passwordStdin === true ? await readSecretLine(context.io, 'password') : undefined
        const { organization } = await connectOrganization(context.io)
        const body = { username, role, ...(password === undefined ? {} : { password }) }
        const added = await organization.members.create(body)
        await present(context, json, added, () =>
          context.style.plain(describeAdded(added)).concat('\n'),
        )
      },
    )
}

function describeAdded({ username, role, status }: CreatedMember): string {
  return status === 'active'
    ? `added ${username} as ${role}`
    : `invited ${username} as ${role}: the account exists outside this organization, ` +
        'and joins it with `palisade invitation accept`'
}

function addRole(member: Command, context: RunContext): void {
  member
    .command('role')
    .description('Change the role of a member, from the next request on.')
    .argument('<user>', 'name of the member')
    .addArgument(new Argument('<role>', 'new role').choices(ROLES))
    .option(...REVOKE_TOKENS)
    .option('--json', 'print the member as the API returns it')
    .addHelpText(
      'after',
      `${ROLE_HELP}
${TOKENS_STAY}

Examples:
  palisade member role bob auditor
  palisade member role bob auditor --revoke-tokens`,
    )
    .action(
      async (
        username: string,
        role: Role,
        options: JsonOption & { readonly revokeTokens?: true },
      ) => {
        const { organization } = await connectOrganization(context.io)
        const changed = await organization.members.setRole(username, role, madeTokens(options))
        const exceeding =
          options.json === true || changed.organization_tokens === 0
            ? []
            : await listExceedingTokens(organization, changed.username)
        await present(
          context,
          options.json,
          changed,
          () =>
            context.style.plain(`${changed.username} is now ${changed.role}`).concat('\n') +
            describeExceedingTokens(exceeding, context.style),
        )
      },
    )
}

function addRemove(member: Command, context: RunContext): void {
  member
    .command('remove')
    .description('Remove a member and revoke their machines.')
    .argument('<user>', 'name of the member')
    .option(...REVOKE_TOKENS)
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `${TOKENS_STAY}

Examples:
  palisade member remove bob
  palisade member remove bob --revoke-tokens --yes`,
    )
    .action(
      async (
        username: string,
        options: JsonOption & { readonly revokeTokens?: true; readonly yes?: true },
      ) => {
        const question = `Remove member \`${username}\` and revoke their machines?`
        await requireConfirmation(context, options.yes, {
          question,
          undone: 'no member was removed',
        })
        const { organization } = await connectOrganization(context.io)
        await organization.members.remove(username, madeTokens(options))
        const exceeding = await listExceedingTokens(organization, username)
        const removed = {
          removed: username,
          organization_tokens_revoked: options.revokeTokens === true,
          organization_tokens: exceeding.map(({ id }) => id),
        }
        await present(
          context,
          options.json,
          removed,
          () =>
            context.style.plain(`removed ${username}`).concat('\n') +
            describeExceedingTokens(exceeding, context.style),
        )
      },
    )
}

function madeTokens({ revokeTokens }: { readonly revokeTokens?: true }): MadeTokensQuery {
  return revokeTokens === true ? { organization_tokens: 'revoke' } : {}
}

function formatMembers(
  members: readonly Member[],
  teams: readonly Team[],
  { style }: RunContext,
): string {
  const names = new Map(teams.map(({ id, name }) => [id, name]))
  return formatTable(
    ['MEMBER', 'ROLE', 'TEAMS'],
    members.map((member) => [
      member.username,
      member.role,
      member.teams.map((id) => names.get(id) ?? id),
    ]),
    style,
  )
}
