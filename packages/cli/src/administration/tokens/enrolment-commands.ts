import type { EnrolmentToken } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { collect } from '../../options/collect.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatAge } from '../../terminal/age.ts'
import { WIDE } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'
import { findToken } from './find-token.ts'

const KIND = { name: 'enrolment token', listedBy: 'palisade enrolment list' } as const

interface EnrolmentOptions {
  readonly json?: true
}

interface CreateOptions extends EnrolmentOptions {
  readonly label?: readonly string[]
  readonly uses: string
  readonly days: string
}

/** `palisade enrolment create|list|revoke` */
export function addEnrolmentCommands(program: Command, context: RunContext): void {
  const enrolment = program
    .command('enrolment')
    .summary('tokens that machines enrol themselves with')
    .description('Create, list and revoke the tokens that machines enrol themselves with.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade enrolment create laptops --uses 20
  palisade enrolment list`,
    )
  addCreate(enrolment, context)
  addList(enrolment, context)
  addRevoke(enrolment, context)
}

function addCreate(enrolment: Command, context: RunContext): void {
  enrolment
    .command('create')
    .description('Create an enrolment token and print it; it is shown only once.')
    .argument('<name>', 'purpose of the token')
    .option('--uses <uses>', 'machines that may enrol with it, 1 to 1000000', '1')
    .option('--days <days>', 'days until it expires, 1 to 30', '7')
    .option('--label <label>', 'label of each machine; repeat, or separate by commas', collect)
    .option('--json', 'print the token as the API returns it, with its secret')
    .addHelpText(
      'after',
      `
The printed line is all that a machine needs; keep it in a file of mode 0600.

Examples:
  palisade enrolment create laptops --uses 20
  palisade enrolment create ci --uses 200 --days 1 --label ci,linux > token`,
    )
    .action(async (name: string, options: CreateOptions) => {
      const request = {
        name,
        ...(options.label === undefined ? {} : { labels: [...options.label] }),
        max_uses: parseNumber(options.uses, '--uses', 1_000_000),
        expires_in_days: parseNumber(options.days, '--days', 30),
      }
      const { organization } = await connectOrganization(context.io)
      const created = await organization.enrolmentTokens.create(request)
      await present(context, options.json, created, () =>
        context.style.plain(created.token).concat('\n'),
      )
    })
}

function addList(enrolment: Command, context: RunContext): void {
  enrolment
    .command('list')
    .description(
      'List enrolment tokens that are not revoked; used-up ones too, and expired ones for 30 days.',
    )
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade enrolment list\n  palisade enrolment list --json',
    )
    .action(async (options: EnrolmentOptions) => {
      const { organization } = await connectOrganization(context.io)
      const data = await organization.enrolmentTokens.list()
      await present(context, options.json, { data }, () => formatTokens(data, context))
    })
}

function addRevoke(enrolment: Command, context: RunContext): void {
  enrolment
    .command('revoke')
    .description('Revoke an enrolment token; machines that were enrolled with it stay.')
    .argument('<token>', 'id, or name when no other token has it')
    .option('--yes', 'do not ask')
    .option('--json', 'print the revoked token')
    .addHelpText('after', '\nExamples:\n  palisade enrolment revoke laptops')
    .action(async (idOrName: string, options: EnrolmentOptions & { readonly yes?: true }) => {
      const { enrolmentTokens } = (await connectOrganization(context.io)).organization
      const found = findToken(KIND, await enrolmentTokens.list(), idOrName)
      const question = `Revoke enrolment token \`${found.name}\` (${found.id})?`
      await requireConfirmation(context, options.yes, { question, undone: 'nothing was revoked' })
      await enrolmentTokens.revoke(found.id)
      await present(context, options.json, found, () =>
        context.style.plain(`revoked enrolment token \`${found.name}\` (${found.id})`).concat('\n'),
      )
    })
}

function parseNumber(written: string, option: string, most: number): number {
  const number = /^\d{1,7}$/.test(written) ? Number(written) : 0
  if (number < 1 || number > most)
    throw usageError(`\`${option}\` must be a whole number from 1 to ${most}`)
  return number
}

function formatTokens(tokens: readonly EnrolmentToken[], { io, style }: RunContext): string {
  if (tokens.length === 0) return 'no enrolment tokens; write `palisade enrolment create NAME`\n'
  const age = (instant: string): string => formatAge(instant, io.now())
  return formatTable(
    [
      'TOKEN',
      { wide: 'BEGINS' },
      'USED',
      'LABELS',
      'MADE BY',
      'EXPIRES',
      'LAST USED',
      { wide: 'ID' },
    ],
    tokens.map((one) => [
      one.name,
      one.prefix,
      `${one.uses} of ${one.max_uses}`,
      one.labels,
      one.created_by,
      one.expired ? `expired ${age(one.expires_at)}` : age(one.expires_at),
      one.last_used_at === null ? 'never' : age(one.last_used_at),
      one.id,
    ]),
    style,
  )
}
