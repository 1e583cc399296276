import { DELIVERY_STATES, type Delivery, type DeliveryState } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatAge } from '../../terminal/age.ts'
import { formatTable } from '../../terminal/table.ts'
import { findWebhook } from './find-webhook.ts'

interface JsonOption {
  readonly json?: true
}

const STATE_HELP = `
States:
  pending    waiting for a requested redelivery
  retrying   failed; later events wait for it
  delivered  accepted by the receiver
  dead       abandoned after eight attempts`

/** `palisade webhook deliveries|redeliver` */
export function addDeliveryCommands(webhook: Command, context: RunContext): void {
  addDeliveries(webhook, context)
  addRedeliver(webhook, context)
}

function addDeliveries(webhook: Command, context: RunContext): void {
  webhook
    .command('deliveries')
    .description('Show deliveries, the newest first; delivered ones among the last hundred events.')
    .argument('<webhook>', 'id, or URL when no other webhook has it')
    .addOption(new Option('--state <state>', 'deliveries in this state').choices(DELIVERY_STATES))
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `${STATE_HELP}

Examples:
  palisade webhook deliveries https://hooks.example.com/palisade --state dead`,
    )
    .action(async (idOrUrl: string, options: JsonOption & { readonly state?: DeliveryState }) => {
      const { organization } = await connectOrganization(context.io)
      const { id } = await findWebhook(organization, idOrUrl)
      const { state } = options
      const data = await organization.webhooks.deliveries(id, state === undefined ? {} : { state })
      await present(context, options.json, { data }, () =>
        data.length === 0 ? 'no deliveries\n' : formatDeliveries(data, context),
      )
    })
}

function addRedeliver(webhook: Command, context: RunContext): void {
  webhook
    .command('redeliver')
    .description('Deliver events once more, out of order.')
    .argument('<webhook>', 'id, or URL when no other webhook has it')
    .argument('<deliveries...>', 'ids, as `palisade webhook deliveries` shows them')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  palisade webhook redeliver https://hooks.example.com evt_17_9f2c41d0a7b35e689f2c41d0a7b35e68`,
    )
    .action(async (idOrUrl: string, ids: string[], options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const { id } = await findWebhook(organization, idOrUrl)
      const data: Delivery[] = []
      for (const delivery of ids) data.push(await organization.webhooks.redeliver(id, delivery))
      await present(context, options.json, { data }, () => formatDeliveries(data, context))
    })
}

function formatDeliveries(deliveries: readonly Delivery[], { io, style }: RunContext): string {
  const age = (instant: string | null): string =>
    instant === null ? '' : formatAge(instant, io.now())
  return formatTable(
    ['EVENT', 'STATE', 'ATTEMPTS', 'ANSWER', 'LAST', 'NEXT', 'ID'],
    deliveries.map((one) => [
      String(one.sequence),
      one.state,
      String(one.attempts),
      [one.status ?? '', one.error ?? ''].join(' ').trim(),
      age(one.attempted_at),
      age(one.next_attempt_at),
      one.id,
    ]),
    style,
  )
}
