import type { DeviceFilter } from '@palisade/client'
import {
  AGENT_STATES,
  ASSURANCE_FILTERS,
  type AgentState,
  type AssuranceFilter,
} from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findDevice, findDeviceId } from '../../lookup/find-device.ts'
import { notFound } from '../../lookup/find-policy.ts'
import { parseDeviceName } from '../../options/device-name.ts'
import { parseSeconds } from '../../options/duration.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { WIDE } from '../../terminal/style.ts'
import { addDeviceRecords } from './device-records-command.ts'
import { formatDevices } from './format-devices.ts'

const DEVICE_ARGUMENT = 'id that `palisade device list` shows, its beginning, or the name'

const SILENT_FOR = { least: 0, most: 365 * 86_400 } as const

interface DeviceOptions {
  readonly json?: true
}

interface ListOptions extends DeviceOptions {
  readonly user?: string
  readonly state?: AgentState
  readonly revision?: string
  readonly label?: string
  readonly assurance?: AssuranceFilter
  readonly name?: string
  readonly silentFor?: string
}

/** `palisade device list|records|rename|label|revoke` */
export function addDeviceCommands(program: Command, context: RunContext): void {
  const device = program
    .command('device')
    .summary('machines of the organization')
    .description('List, rename, label and revoke the machines of the organization.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade device list
  palisade device label 0b9f… ci linux
  palisade device revoke 0b9f…`,
    )
  addList(device, context)
  addDeviceRecords(device, context, DEVICE_ARGUMENT)
  addRename(device, context)
  addLabel(device, context)
  addRevoke(device, context)
}

function addList(device: Command, context: RunContext): void {
  device
    .command('list')
    .description('List machines, including revoked ones, with their last reports.')
    .option('--user <username>', 'machines of this user')
    .addOption(new Option('--state <state>', 'machines in this state').choices(AGENT_STATES))
    .option('--revision <number>', 'machines with this revision in force')
    .option('--label <label>', 'machines with this label')
    .addOption(
      new Option(
        '--assurance <class>',
        'machines of this assurance class, or of a weaker one with `<` before it',
      ).choices(ASSURANCE_FILTERS),
    )
    .option('--name <start>', 'machines with a name that begins with this text')
    .option(
      '--silent-for <duration>',
      'machines not revoked, but silent for this long, such as 15m',
    )
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  palisade device list
  palisade device list --name laptop-
  palisade device list --state rejected --json
  palisade device list --assurance '<linux-sandbox'
  palisade device list --silent-for 15m`,
    )
    .action(async (options: ListOptions) => {
      const filter = readFilter(options)
      const { organization } = await connectOrganization(context.io)
      const data = await organization.devices.list(filter)
      await present(context, options.json, { data }, () =>
        formatDevices(data, { isFiltered: Object.keys(filter).length > 0 }, context),
      )
    })
}

function addRename(device: Command, context: RunContext): void {
  device
    .command('rename')
    .description('Rename a machine; its policies stay.')
    .argument('<device>', DEVICE_ARGUMENT)
    .argument('<name>', 'new name, of 1 to 64 characters')
    .option('--json', 'print the machine as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade device rename 0b9f… laptop-12')
    .action(async (written: string, text: string, options: DeviceOptions) => {
      const name = parseDeviceName(text, 'name')
      const { organization } = await connectOrganization(context.io)
      const id = await findDeviceId(organization, written)
      const changed = await organization.devices.rename(id, name)
      await present(context, options.json, changed, () =>
        context.style.plain(`renamed device ${changed.id} to ${changed.name ?? name}`).concat('\n'),
      )
    })
}

function addLabel(device: Command, context: RunContext): void {
  device
    .command('label')
    .description('Replace the labels of a machine; without labels, remove all.')
    .argument('<device>', DEVICE_ARGUMENT)
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
    .description('Revoke a machine: the server refuses all further requests of it.')
    .argument('<device>', DEVICE_ARGUMENT)
    .option('--yes', 'do not ask')
    .option('--json', 'print the machine')
    .addHelpText('after', '\nExamples:\n  palisade device revoke 0b9f… --yes')
    .action(async (id: string, options: DeviceOptions & { readonly yes?: true }) => {
      const { organization } = await connectOrganization(context.io)
      const devices = await organization.devices.list()
      const found = findDevice(devices, id)
      if (found === null)
        throw notFound(
          'device',
          id,
          devices.map((each) => each.id),
        )
      const called = found.name === undefined ? '' : ` \`${found.name}\``
      const question = `Revoke device${called} ${found.id} of ${found.user ?? 'no user'}?`
      await requireConfirmation(context, options.yes, { question, undone: 'nothing was revoked' })
      await organization.devices.revoke(found.id)
      await present(context, options.json, found, () =>
        context.style.plain(`revoked device ${found.id}`).concat('\n'),
      )
    })
}

function readFilter({
  user,
  state,
  revision,
  label,
  assurance,
  name,
  silentFor,
}: ListOptions): DeviceFilter {
  if (revision !== undefined && !/^\d{1,15}$/.test(revision))
    throw usageError('`--revision` must be a whole number')
  return {
    ...(user === undefined ? {} : { user }),
    ...(state === undefined ? {} : { state }),
    ...(revision === undefined ? {} : { revision }),
    ...(label === undefined ? {} : { label }),
    ...(assurance === undefined ? {} : { assurance }),
    ...(name === undefined ? {} : { name: parseDeviceName(name, '--name') }),
    ...(silentFor === undefined
      ? {}
      : { silent_for_seconds: String(parseSeconds(silentFor, '--silent-for', SILENT_FOR)) }),
  }
}
