import type { AccessTokensClient } from '@palisade/client'
import { PERMISSIONS, type AccessToken, type Permission } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { collect } from '../../options/collect.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { write } from '../../runtime/write.ts'
import { formatAge } from '../../terminal/age.ts'
import { WIDE } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'
import { describeExceedingTokens, isExceeding } from './exceeding-tokens.ts'
import { findToken } from './find-token.ts'

const KIND = { name: 'token', listedBy: 'palisade token list' } as const

interface TokenOptions {
  readonly organization?: true
  readonly json?: true
}

interface CreateOptions extends TokenOptions {
  readonly permission?: readonly string[]
  readonly days: string
}

const OF_ORGANIZATION = "the organization's tokens, not your own"

/** `palisade token list|create|revoke` */
export function addTokenCommands(program: Command, context: RunContext): void {
  const token = program
    .command('token')
    .summary('access tokens, your own or the organization’s')
    .description('Create and revoke access tokens: your own, or those of the organization.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade token list
  palisade token create laptop --permission policies:read --days 30
  palisade token revoke laptop`,
    )
  addList(token, context)
  addCreate(token, context)
  addRevoke(token, context)
}

function addList(token: Command, context: RunContext): void {
  token
    .command('list')
    .description('List tokens that are not revoked; expired ones too, for 30 days.')
    .option('--organization', OF_ORGANIZATION)
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade token list\n  palisade token list --organization --json',
    )
    .action(async (options: TokenOptions) => {
      const data = await (await connectTokens(context, options)).list()
      await present(context, options.json, { data }, () =>
        formatTokens(data, context).concat(
          describeExceedingTokens(data.filter(isExceeding), context.style),
        ),
      )
    })
}

function addCreate(token: Command, context: RunContext): void {
  token
    .command('create')
    .description('Create a token and print its secret, which is shown only once.')
    .argument('<name>', 'purpose of the token')
    .option('--permission <permission>', 'repeat, or separate by commas, for several', collect)
    .option('--days <days>', 'days until it expires, 1 to 3650', '90')
    .option('--organization', OF_ORGANIZATION)
    .option('--json', 'print the token as the API returns it, with its secret')
    .addHelpText(
      'after',
      `
Permissions: ${PERMISSIONS.join(', ')}
Without --permission the token can only show who you are. It never has more permissions than you.

Examples:
  palisade token create laptop --permission policies:read,policies:write --days 30
  palisade token create pipeline --organization --permission policies:write`,
    )
    .action(async (name: string, options: CreateOptions) => {
      const permissions = parsePermissions(options.permission ?? [])
      const expires_in_days = parseDays(options.days)
      const tokens = await connectTokens(context, options)
      if (permissions.length === 0)
        await write(
          context.io.stderr,
          'warning: this token has no permissions; ' +
            'write `--permission policies:read` to grant one\n',
        )
      const created = await tokens.create({ name, permissions, expires_in_days })
      await present(context, options.json, created, () =>
        context.style.plain(created.token).concat('\n'),
      )
    })
}

function addRevoke(token: Command, context: RunContext): void {
  token
    .command('revoke')
    .description('Revoke a token and every token made with it, at once.')
    .argument('<token>', 'id, or name when no other token has it')
    .option('--organization', OF_ORGANIZATION)
    .option('--yes', 'do not ask')
    .option('--json', 'print the revoked token')
    .addHelpText('after', '\nExamples:\n  palisade token revoke laptop')
    .action(async (idOrName: string, options: TokenOptions & { readonly yes?: true }) => {
      const tokens = await connectTokens(context, options)
      const found = findToken(KIND, await tokens.list(), idOrName)
      const question = `Revoke token \`${found.name}\` (${found.id})?`
      await requireConfirmation(context, options.yes, { question, undone: 'nothing was revoked' })
      await tokens.revoke(found.id)
      await present(context, options.json, found, () =>
        context.style.plain(`revoked token \`${found.name}\` (${found.id})`).concat('\n'),
      )
    })
}

async function connectTokens(
  { io }: RunContext,
  options: TokenOptions,
): Promise<AccessTokensClient> {
  const { organization, personalTokens } = await connectOrganization(io)
  return options.organization === true ? organization.accessTokens : personalTokens
}

function parsePermissions(written: readonly string[]): Permission[] {
  return written.map((permission) => {
    const known = PERMISSIONS.find((candidate) => candidate === permission)
    if (known !== undefined) return known
    const all = PERMISSIONS.map((name) => `\`${name}\``).join(', ')
    throw usageError(`unknown permission \`${permission}\`; write one of ${all}`)
  })
}

function parseDays(written: string): number {
  const days = /^\d{1,4}$/.test(written) ? Number(written) : 0
  if (days < 1 || days > 3650) throw usageError('`--days` must be a whole number from 1 to 3650')
  return days
}

function formatTokens(tokens: readonly AccessToken[], { io, style }: RunContext): string {
  if (tokens.length === 0) return 'no tokens; write `palisade token create NAME`\n'
  const age = (instant: string): string => formatAge(instant, io.now())
  return formatTable(
    ['TOKEN', { wide: 'BEGINS' }, 'PERMISSIONS', 'MADE BY', 'EXPIRES', 'LAST USED', { wide: 'ID' }],
    tokens.map((one) => [
      one.name,
      one.prefix,
      one.permissions.length === 0 ? 'none' : one.permissions,
      one.created_by,
      one.expired ? `expired ${age(one.expires_at)}` : age(one.expires_at),
      one.last_used_at === null ? 'never' : age(one.last_used_at),
      one.id,
    ]),
    style,
  )
}
