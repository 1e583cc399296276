import type { Delivery, ListDeliveriesQuery, ListDeliveriesResponse } from '@palisade/protocol'
import { authorize } from '../accounts/authorize.ts'
import type { Caller } from '../accounts/principal.ts'
import type { AuditedStore } from '../history/audited-store.ts'
import { readPage } from '../http/read-page.ts'
import type { ListedDelivery } from '../store/contract/webhooks.ts'
import { formatDeliveryId } from './delivery-id.ts'
import { findWebhook } from './find-webhook.ts'

export interface ListDeliveriesDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly pageTokenKey: Uint8Array
}

/** One page of what became of events, the newest first. Throws ApiError. */
export async function listDeliveries(
  deps: ListDeliveriesDeps,
  caller: Caller,
  { org, id }: { readonly org: string; readonly id: string },
  { state, ...query }: ListDeliveriesQuery,
): Promise<ListDeliveriesResponse> {
  return deps.store.read(async (reader) => {
    await authorize(reader, caller, org, 'organization:admin')
    await findWebhook(reader, org, id)
    const list = { of: 'deliveries', owner: id } as const
    const { rows, next_page_token } = await readPage(deps, list, query, {
      read: ({ after, limit }) => {
        const before = after === '' ? null : Number(after)
        return reader.deliveries.list(id, { state: state ?? null, before, limit })
      },
      placeOf: ({ sequence }) => sequence.toString(),
    })
    return { data: rows.map(formatDelivery), next_page_token }
  })
}

export function formatDelivery({
  webhook_id: _webhook,
  hash,
  ...delivery
}: ListedDelivery): Delivery {
  return { id: formatDeliveryId({ sequence: delivery.sequence, hash: hash ?? '' }), ...delivery }
}
