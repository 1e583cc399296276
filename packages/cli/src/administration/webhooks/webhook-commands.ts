import type { UpdateWebhookRequest, Webhook } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatAge } from '../../terminal/age.ts'
import { formatTable } from '../../terminal/table.ts'
import { addDeliveryCommands } from './delivery-commands.ts'
import { findWebhook } from './find-webhook.ts'

interface JsonOption {
  readonly json?: true
}

interface UpdateOptions extends JsonOption {
  readonly url?: string
  readonly enable?: true
  readonly disable?: true
}

/** `palisade webhook list|add|show|update|remove|rotate-secret|deliveries|redeliver` */
export function addWebhookCommands(program: Command, context: RunContext): void {
  const webhook = program
    .command('webhook')
    .summary('send changes to other systems')
    .description('Deliver every event of the history to other systems, signed.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade webhook add https://hooks.example.com/palisade
  palisade webhook deliveries https://hooks.example.com/palisade --state dead`,
    )
  addList(webhook, context)
  addAdd(webhook, context)
  addShow(webhook, context)
  addUpdate(webhook, context)
  addRemove(webhook, context)
  addRotateSecret(webhook, context)
  addDeliveryCommands(webhook, context)
}

function addList(webhook: Command, context: RunContext): void {
  webhook
    .command('list')
    .description('List the webhooks of the organization.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade webhook list')
    .action(async (options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const data = await organization.webhooks.list()
      await present(context, options.json, { data }, () =>
        data.length === 0
          ? 'no webhooks; write `palisade webhook add URL`\n'
          : formatWebhooks(data, context),
      )
    })
}

function addAdd(webhook: Command, context: RunContext): void {
  webhook
    .command('add')
    .description(
      'Deliver every event from now on to a URL, and print the signing secret, ' +
        'which is shown only once.',
    )
    .argument('<url>', 'HTTPS URL that receives deliveries; it is shown in the history')
    .option('--json', 'print the webhook as the API returns it, with its secret')
    .addHelpText(
      'after',
      `
Deliveries are signed by Standard Webhooks (https://www.standardwebhooks.com).

Examples:
  palisade webhook add https://hooks.example.com/palisade`,
    )
    .action(async (url: string, options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const made = await organization.webhooks.create(url)
      await present(context, options.json, made, () =>
        context.style.plain(made.secret).concat('\n'),
      )
    })
}

function addShow(webhook: Command, context: RunContext): void {
  webhook
    .command('show')
    .description('Show one webhook.')
    .argument('<webhook>', 'id, or URL when no other webhook has it')
    .option('--json', 'print the webhook as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade webhook show https://hooks.example.com/palisade')
    .action(async (idOrUrl: string, options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const found = await findWebhook(organization, idOrUrl)
      await present(context, options.json, found, () => formatWebhooks([found], context))
    })
}

function addUpdate(webhook: Command, context: RunContext): void {
  webhook
    .command('update')
    .description('Change the URL of a webhook, or hold its events back.')
    .argument('<webhook>', 'id, or URL when no other webhook has it')
    .option('--url <url>', 'HTTPS URL that receives deliveries from now on')
    .option('--enable', 'deliver the waiting events, and all later ones')
    .option('--disable', 'let events wait until the webhook is enabled')
    .option('--json', 'print the webhook as the API returns it')
    .addHelpText(
      'after',
      `
The change applies at once: an event that was being sent is sent again.

Examples:
  palisade webhook update https://hooks.example.com/palisade --disable
  palisade webhook update https://hooks.example.com/palisade --enable
  palisade webhook update https://hooks.example.com/palisade --url https://new.example.com/hook`,
    )
    .action(async (idOrUrl: string, options: UpdateOptions) => {
      const change = changeOf(options)
      const { organization } = await connectOrganization(context.io)
      const { id } = await findWebhook(organization, idOrUrl)
      const changed = await organization.webhooks.update(id, change)
      await present(context, options.json, changed, () => formatWebhooks([changed], context))
    })
}

function addRemove(webhook: Command, context: RunContext): void {
  webhook
    .command('remove')
    .description('Delete a webhook; its undelivered events are dropped.')
    .argument('<webhook>', 'id, or URL when no other webhook has it')
    .option('--yes', 'do not ask')
    .option('--json', 'print the deleted webhook')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade webhook remove https://hooks.example.com/palisade --yes',
    )
    .action(async (idOrUrl: string, options: JsonOption & { readonly yes?: true }) => {
      const { organization } = await connectOrganization(context.io)
      const found = await findWebhook(organization, idOrUrl)
      const question = `Delete the webhook to ${found.url} (${found.id})?`
      await requireConfirmation(context, options.yes, { question, undone: 'nothing was deleted' })
      await organization.webhooks.delete(found.id)
      await present(context, options.json, found, () =>
        context.style.plain(`deleted the webhook to ${found.url} (${found.id})`).concat('\n'),
      )
    })
}

function addRotateSecret(webhook: Command, context: RunContext): void {
  webhook
    .command('rotate-secret')
    .description(
      'Create a new signing secret and print it, only once; for a day the old one signs, too.',
    )
    .argument('<webhook>', 'id, or URL when no other webhook has it')
    .option('--json', 'print the webhook as the API returns it, with its secret')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade webhook rotate-secret https://hooks.example.com/palisade',
    )
    .action(async (idOrUrl: string, options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const { id } = await findWebhook(organization, idOrUrl)
      const rotated = await organization.webhooks.rotateSecret(id)
      await present(context, options.json, rotated, () =>
        context.style.plain(rotated.secret).concat('\n'),
      )
    })
}

function changeOf({ url, enable, disable }: UpdateOptions): UpdateWebhookRequest {
  if (enable === true && disable === true)
    throw usageError('write either `--enable` or `--disable`')
  if (url === undefined && enable === undefined && disable === undefined)
    throw usageError('nothing to change; write `--url URL`, `--enable` or `--disable`')
  return {
    ...(url === undefined ? {} : { url }),
    ...(enable === undefined && disable === undefined ? {} : { enabled: enable === true }),
  }
}

function formatWebhooks(webhooks: readonly Webhook[], { io, style }: RunContext): string {
  return formatTable(
    ['URL', 'STATE', 'SECRET', 'ID'],
    webhooks.map(({ url, enabled, secret_created_at, id }) => [
      url,
      enabled ? 'enabled' : 'disabled',
      `made ${formatAge(secret_created_at, io.now())}`,
      id,
    ]),
    style,
  )
}
