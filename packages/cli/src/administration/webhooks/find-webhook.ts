import type { OrganizationClient } from '@palisade/client'
import type { Webhook } from '@palisade/protocol'
import { findByPrefix } from '../../lookup/find-by-prefix.ts'
import { notFound } from '../../lookup/find-policy.ts'
import { CliError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'

/**
 * Finds a webhook by id, unique URL or unique id prefix. Throws `ERR_NOT_FOUND`, exit 1.
 */
export async function findWebhook(
  organization: OrganizationClient,
  idOrUrl: string,
): Promise<Webhook> {
  const webhooks = await organization.webhooks.list()
  const byId = webhooks.find(({ id }) => id === idOrUrl)
  if (byId !== undefined) return byId
  const [found, another] = webhooks.filter(({ url }) => url === idOrUrl)
  if (another !== undefined)
    throw new CliError(
      'ERR_NOT_FOUND',
      EXIT.failed,
      `several webhooks have the URL \`${idOrUrl}\`; ` +
        'write the id that `palisade webhook list` shows',
    )
  const one = found ?? findByPrefix('webhook', webhooks, idOrUrl)
  if (one !== null) return one
  throw notFound(
    'webhook',
    idOrUrl,
    webhooks.map(({ url }) => url),
  )
}
