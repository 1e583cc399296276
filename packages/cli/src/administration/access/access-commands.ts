import type { AccessRequestsClient } from '@palisade/client'
import {
  ACCESS_SECONDS,
  ACCESS_STATES,
  type AccessRequest,
  type AccessState,
  type ReviewedAccessRequest,
} from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findByPrefix } from '../../lookup/find-by-prefix.ts'
import { notFound } from '../../lookup/find-policy.ts'
import { parseSeconds } from '../../options/duration.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { WIDE } from '../../terminal/style.ts'
import { formatAccessRequest, formatAccessRequests } from './format-access.ts'

const ID_LENGTH = 'acr_'.length + 28
const ID = 'id that `palisade access ls` shows, or its beginning'

interface JsonOption {
  readonly json?: true
}

interface ListOptions extends JsonOption {
  readonly state?: AccessState
  readonly user?: string
}

interface ApproveOptions extends JsonOption {
  readonly resource?: readonly string[]
  readonly for?: string
  readonly once?: true
  readonly answer?: string
}

/** `palisade access ls|show|approve|reject|revoke|withdraw` */
export function addAccessCommands(program: Command, context: RunContext): void {
  const access = program
    .command('access')
    .summary('requests for access, and their answers')
    .description(
      'Answer requests for access. Owners and editors answer all, and approvers of a team ' +
        'those of its members. `palisade request` asks.',
    )
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade access ls --state pending
  palisade access show acr_06gz
  palisade access approve acr_06gz --for 30m`,
    )
  addList(access, context)
  addShow(access, context)
  addApprove(access, context)
  addEnd(access, context, {
    verb: 'reject',
    description: 'Reject a request; the answer reaches the requester.',
    example: 'use the mirror instead',
  })
  addEnd(access, context, {
    verb: 'revoke',
    description: 'Revoke a grant before its end.',
    example: 'the build is done',
  })
  addWithdraw(access, context)
}

function addList(access: Command, context: RunContext): void {
  access
    .command('ls')
    .description('List the newest hundred requests that you may see.')
    .addOption(new Option('--state <state>', 'only requests in this state').choices(ACCESS_STATES))
    .option('--user <name>', 'only requests of this user')
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade access ls --state pending\n  palisade access ls --user bob --json',
    )
    .action(async ({ state, user, json }: ListOptions) => {
      const data = await (await connect(context)).newest({ state, username: user })
      await present(context, json, { data }, () =>
        formatAccessRequests(data, context.io.now(), context.style),
      )
    })
}

function addShow(access: Command, context: RunContext): void {
  access
    .command('show')
    .description('Show a request; for those who may answer, with what it opens.')
    .argument('<id>', ID)
    .option('--json', 'print the request as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade access show acr_06gz')
    .action(async (written: string, { json }: JsonOption) => {
      const requests = await connect(context)
      await show(context, json, await requests.get(await findId(requests, written)))
    })
}

function addApprove(access: Command, context: RunContext): void {
  access
    .command('approve')
    .description('Approve a request as it is, or with a narrower or shorter grant.')
    .argument('<id>', ID)
    .option('--resource <patterns...>', 'instead of the requested ones; they open no more')
    .option('--for <duration>', 'instead of the requested time, and no longer')
    .option('--once', 'the first connection that the grant alone allows spends it')
    .option('--answer <text>', 'words for the requester')
    .option('--json', 'print the request as the API returns it')
    .addHelpText(
      'after',
      `
A deny of a policy still closes what a grant allows.

Examples:
  palisade access approve acr_06gz
  palisade access approve acr_06gz --resource registry.example.com:443 --for 30m --once`,
    )
    .action(async (written: string, options: ApproveOptions) => {
      const { resource, once, answer, json } = options
      const grant = {
        ...(resource === undefined ? {} : { resources: [...resource] }),
        ...(options.for === undefined
          ? {}
          : { duration_seconds: parseSeconds(options.for, '--for', LIMITS) }),
        ...(once === undefined ? {} : { once }),
        ...(answer === undefined ? {} : { answer }),
      }
      const requests = await connect(context)
      await show(context, json, await requests.approve(await findId(requests, written), grant))
    })
}

const LIMITS = { least: ACCESS_SECONDS.min, most: ACCESS_SECONDS.max } as const

function addEnd(
  access: Command,
  context: RunContext,
  {
    verb,
    description,
    example,
  }: { readonly verb: 'reject' | 'revoke'; readonly description: string; readonly example: string },
): void {
  access
    .command(verb)
    .description(description)
    .argument('<id>', ID)
    .requiredOption('--answer <text>', 'words for the requester')
    .option('--json', 'print the request as the API returns it')
    .addHelpText('after', `\nExamples:\n  palisade access ${verb} acr_06gz --answer "${example}"`)
    .action(async (written: string, { answer, json }: JsonOption & { readonly answer: string }) => {
      const requests = await connect(context)
      const id = await findId(requests, written)
      await show(context, json, await requests[verb](id, answer))
    })
}

function addWithdraw(access: Command, context: RunContext): void {
  access
    .command('withdraw')
    .description('Withdraw your own request before its answer.')
    .argument('<id>', ID)
    .option('--json', 'print the request as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade access withdraw acr_06gz')
    .action(async (written: string, { json }: JsonOption) => {
      const requests = await connect(context)
      await show(context, json, await requests.withdraw(await findId(requests, written)))
    })
}

async function connect({ io }: RunContext): Promise<AccessRequestsClient> {
  return (await connectOrganization(io)).organization.accessRequests
}

async function show(
  context: RunContext,
  json: true | undefined,
  request: AccessRequest | ReviewedAccessRequest,
): Promise<void> {
  await present(context, json, request, () => formatAccessRequest(request, context.style))
}

/** A whole id, or the beginning of one of the newest hundred. Throws `ERR_NOT_FOUND`, exit 1. */
async function findId(requests: AccessRequestsClient, written: string): Promise<string> {
  if (written.length >= ID_LENGTH) return written
  const all = await requests.newest()
  const found = findByPrefix('access request', all, written)
  if (found !== null) return found.id
  throw notFound(
    'access request',
    written,
    all.map(({ id }) => id),
  )
}
