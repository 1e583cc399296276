import type { DeviceFilter } from '@palisade/client'
import { AGENT_STATES, type AgentState, type Device } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { usageError } from '../cli-error.ts'
import { parseSeconds } from '../duration.ts'
import { present, type RunContext } from '../run-context.ts'
import { formatAge } from '../terminal/age.ts'
import { formatTable } from '../terminal/table.ts'
import { confirmed } from './confirmed.ts'
import { findByPrefix } from './find-by-prefix.ts'
import { findDeviceId } from './find-device.ts'
import { notFound } from './find-policy.ts'

const SILENT_FOR = { least: 0, most: 365 * 86_400 } as const

interface DeviceOptions {
  readonly json?: true
}

interface ListOptions extends DeviceOptions {
  readonly user?: string
  readonly state?: AgentState
  readonly revision?: string
  readonly label?: string
  readonly silentFor?: string
}

/** `palisade device list|label|revoke` */
export function addDeviceCommands(program: Command, context: RunContext): void {
  const device = program
    .command('device')
    .summary('machines of the organization')
    .description('List, label and revoke the machines of the organization.')
    .helpCommand(false)
  addList(device, context)
  addLabel(device, context)
  addRevoke(device, context)
}

function addList(device: Command, context: RunContext): void {
  device
    .command('list')
    .description('List machines, also those that were revoked, and what they last reported.')
    .option('--user <username>', 'of this user')
    .addOption(new Option('--state <state>', 'in this state').choices(AGENT_STATES))
    .option('--revision <number>', 'with this revision in force')
    .option('--label <label>', 'with this label')
    .option('--silent-for <duration>', 'not revoked, and not heard of for so long, such as 15m')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  palisade device list
  palisade device list --state rejected --json
  palisade device list --silent-for 15m`,
    )
    .action(async (options: ListOptions) => {
      const filter = readFilter(options)
      const { organization } = await connectOrganization(context.io)
      const data = await organization.devices.list(filter)
      await present(context, options.json, { data }, () => formatDevices(data, context))
    })
}

function addLabel(device: Command, context: RunContext): void {
  device
    .command('label')
    .description('Replace the labels of a machine; without any, it has none.')
    .argument('<device>', 'id that `palisade device list` shows, or its beginning')
    .argument('[labels...]', 'of a-z, 0-9 and `._-`')
    .option('--json', 'print the machine as the API returns it')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade device label 0b9f… ci linux\n  palisade device label 0b9f…',
    )
    .action(async (id: string, labels: readonly string[], options: DeviceOptions) => {
      const { organization } = await connectOrganization(context.io)
      const changed = await organization.devices.setLabels(
        await findDeviceId(organization, id),
        labels,
      )
      const shown = changed.labels.length === 0 ? 'no label' : changed.labels.join(', ')
      await present(context, options.json, changed, () =>
        context.style.plain(`device ${changed.id} has ${shown}`).concat('\n'),
      )
    })
}

function addRevoke(device: Command, context: RunContext): void {
  device
    .command('revoke')
    .description('Revoke a machine: it fetches nothing from its next request on.')
    .argument('<device>', 'id that `palisade device list` shows, or its beginning')
    .option('--yes', 'do not ask')
    .option('--json', 'print the machine')
    .addHelpText('after', '\nExamples:\n  palisade device revoke 0b9f… --yes')
    .action(async (id: string, options: DeviceOptions & { readonly yes?: true }) => {
      const { organization } = await connectOrganization(context.io)
      const devices = await organization.devices.list()
      const found = devices.find((each) => each.id === id) ?? findByPrefix('device', devices, id)
      if (found === null)
        throw notFound(
          'device',
          id,
          devices.map((each) => each.id),
        )
      const question = `Revoke device ${found.id} of ${found.user ?? 'no user'}?`
      await confirmed(context, options.yes, { question, undone: 'nothing was revoked' })
      await organization.devices.revoke(found.id)
      await present(context, options.json, found, () =>
        context.style.plain(`revoked device ${found.id}`).concat('\n'),
      )
    })
}

function readFilter({ user, state, revision, label, silentFor }: ListOptions): DeviceFilter {
  if (revision !== undefined && !/^\d{1,15}$/.test(revision))
    throw usageError('`--revision` must be a whole number')
  return {
    ...(user === undefined ? {} : { user }),
    ...(state === undefined ? {} : { state }),
    ...(revision === undefined ? {} : { revision }),
    ...(label === undefined ? {} : { label }),
    ...(silentFor === undefined
      ? {}
      : { silent_for_seconds: String(parseSeconds(silentFor, '--silent-for', SILENT_FOR)) }),
  }
}

/** Polls are told a minute later; a report is a sign of life as well. */
function formatSeen(
  { last_seen_at, reported_at }: Device,
  age: (instant: string) => string,
): string {
  const [first, ...others] = [last_seen_at, reported_at].filter((at) => at !== undefined)
  if (first === undefined) return 'never'
  return age(others.reduce((last, at) => (Date.parse(at) > Date.parse(last) ? at : last), first))
}

function formatDevices(devices: readonly Device[], { io, style }: RunContext): string {
  if (devices.length === 0) return 'no devices; write `palisade enrol` on a machine\n'
  const age = (instant: string): string => formatAge(instant, io.now())
  return formatTable(
    [
      'DEVICE',
      'USER',
      'LABELS',
      'STATE',
      'REVISION',
      'ERROR',
      'REPORTED',
      'LAST SEEN',
      'AGENT',
      'REVOKED',
    ],
    devices.map((each) => [
      each.id,
      each.user ?? '',
      each.labels,
      each.state ?? '',
      each.revision === undefined ? '' : `${each.revision}`,
      each.last_error?.code ?? '',
      each.reported_at === undefined ? 'never' : age(each.reported_at),
      formatSeen(each, age),
      each.agent_version ?? '',
      each.revoked_at === undefined ? '' : age(each.revoked_at),
    ]),
    style,
  )
}
