import type { Delivery, ListDeliveriesQuery, ListDeliveriesResponse } from '@palisade/protocol'
import { authorize } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import type { Caller } from '../identity/principal.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { readPage, type RowPage } from '../http/input/read-page.ts'
import type { Work, WorkBudget } from '../work/work-budget.ts'
import type { ListedDelivery } from '../store/aggregates/history/deliveries.ts'
import { formatDeliveryId } from './delivery-id.ts'
import { findWebhook } from './find-webhook.ts'

/**
 * Rows of one read. The hash of an event stands behind its states, so SQLite follows up to a
 * megabyte of pages to each.
 */
const SLICE = 8

export interface ListDeliveriesDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly budget: Pick<WorkBudget, 'begin'>
  readonly pageTokenKey: Uint8Array
}

/**
 * One page of deliveries, the newest first, read in slices: each is a snapshot of its own in which
 * the caller is authorized again. Throws ApiError, 429 among others.
 */
export async function listDeliveries(
  deps: ListDeliveriesDeps,
  caller: Caller,
  at: { readonly org: string; readonly id: string },
  { state, ...query }: ListDeliveriesQuery,
): Promise<ListDeliveriesResponse> {
  const list = { of: 'deliveries', owner: at.id } as const
  const { rows, next_page_token } = await readPage(deps, list, query, {
    read: (page) => readInSlices(deps, caller, { ...at, state: state ?? null }, page),
    positionOf: ({ sequence }) => sequence.toString(),
  })
  return { data: rows.map(formatDelivery), next_page_token }
}

export function formatDelivery({
  webhook_id: _webhook,
  hash,
  ...delivery
}: ListedDelivery): Delivery {
  return { id: formatDeliveryId({ sequence: delivery.sequence, hash: hash ?? '' }), ...delivery }
}

async function readInSlices(
  { store, budget }: ListDeliveriesDeps,
  caller: Caller,
  {
    org,
    id,
    state,
  }: { readonly org: string; readonly id: string; readonly state: Delivery['state'] | null },
  { after, limit }: RowPage,
): Promise<ListedDelivery[]> {
  const rows: ListedDelivery[] = []
  let before = after === '' ? null : Number(after)
  let work: Work | null = null
  try {
    for (;;) {
      const size = Math.min(SLICE, limit - rows.length)
      const bounds = { state, before, limit: size }
      const { slice, payer } = await store.read(async (reader) => {
        const access = await authorize(reader, caller, org, 'organization:admin')
        await findWebhook(reader, org, id)
        const found = await reader.deliveries.list(id, bounds)
        return { slice: found, payer: payerOf(caller, access) }
      })
      rows.push(...slice)
      before = slice.at(-1)?.sequence ?? before
      if (slice.length < size || rows.length === limit) return rows
      work ??= budget.begin(payer)
      await work.turn()
    }
  } finally {
    work?.end()
  }
}
