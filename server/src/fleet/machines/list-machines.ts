import type { ListDevicesQuery, ListDevicesResponse } from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Caller } from '../../identity/principal.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import {
  formatPageToken,
  readPageSize,
  readPageToken,
  type PageList,
} from '../../http/input/page-token.ts'
import type { Work, WorkBudget } from '../../work/work-budget.ts'
import type { DeviceFilter } from '../../store/aggregates/devices/device-search.ts'
import { formatMachine, readMachines, type Machine } from './machines.ts'

/** How many devices one request looks at, and how many one read. bench: server/hostile */
const [WINDOW, SLICE] = [10_000, 1_000]

export interface ListMachinesDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly budget: WorkBudget
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/**
 * One page of an organization's devices, read in slices: each is a snapshot of its own in which the
 * caller is authorized again. Throws ApiError, 429 among others.
 */
export async function listMachines(
  { store, budget, pageTokenKey, now }: ListMachinesDeps,
  caller: Caller,
  org: string,
  { page_size, cursor, ...query }: ListDevicesQuery,
): Promise<ListDevicesResponse> {
  const list: PageList = { of: 'devices', owner: org, parameter: 'cursor' }
  const limit = readPageSize(page_size)
  const filter = readFilter(query, now().getTime())
  const found: Machine[] = []
  let after: string | null = null
  let isWhole = false
  let work: Work | null = null
  for (let looked = 0; looked < WINDOW && found.length <= limit && !isWhole; looked += SLICE) {
    // One more than asked for tells whether there is another page.
    const bounds = { window: SLICE, limit: limit + 1 - found.length }
    const slice = await store.read(async (reader) => {
      const access = await authorize(reader, caller, org, 'organization:admin')
      const from = cursor === undefined ? '' : readPageToken(pageTokenKey, list, cursor)
      const page = { ...bounds, after: after ?? from }
      const { devices, through } = await reader.devices.search(org, filter, page)
      const machines = await readMachines(reader, devices)
      return { machines, through, payer: payerOf(caller, access) }
    })
    found.push(...slice.machines)
    after = slice.through
    isWhole = after === null
    // Most lists are one slice, and free.
    if (!isWhole && found.length <= limit) {
      work ??= budget.begin(slice.payer)
      await work.turn()
    }
  }
  work?.end()
  const shown = found.slice(0, limit)
  if (found.length > limit) after = shown.at(-1)?.device.id ?? null
  return {
    data: shown.map(formatMachine),
    next_cursor: after === null ? null : formatPageToken(pageTokenKey, list, after),
  }
}

type Query = Omit<ListDevicesQuery, 'page_size' | 'cursor'>

function readFilter(
  { user, state, label, name, revision, assurance, silent_for_seconds: seconds }: Query,
  nowMs: number,
): DeviceFilter {
  return {
    user: user ?? null,
    state: state ?? null,
    label: label ?? null,
    name: name ?? null,
    assurance: assurance ?? null,
    revision: revision === undefined ? null : Number(revision),
    // No device is older than 1970.
    silentSince:
      seconds === undefined
        ? null
        : new Date(Math.max(0, nowMs - Number(seconds) * 1000)).toISOString(),
  }
}
