import type { ListDevicesQuery, ListDevicesResponse } from '@palisade/protocol'
import { authorize } from '../../accounts/authorize.ts'
import type { Caller } from '../../accounts/principal.ts'
import type { AuditedStore } from '../../history/audited-store.ts'
import {
  formatPageToken,
  readPageSize,
  readPageToken,
  type PageList,
} from '../../http/page-token.ts'
import { nextTurn } from '../../next-turn.ts'
import { formatMachine, lastSignOfLife, readMachines, type Machine } from './machines.ts'

/** A filter that few pass would read a whole fleet while others wait. */
const WINDOW = 10_000
const SLICE = 250

export interface ListMachinesDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/** One page of an organization's devices. Throws ApiError. */
export async function listMachines(
  { store, pageTokenKey, now }: ListMachinesDeps,
  caller: Caller,
  org: string,
  { page_size, cursor, ...filter }: ListDevicesQuery,
): Promise<ListDevicesResponse> {
  const list: PageList = { of: 'devices', org, parameter: 'cursor' }
  return store.read(async (reader) => {
    await authorize(reader, caller, org, 'organization:admin')
    const limit = readPageSize(page_size)
    const isWanted = createFilter(filter, now().getTime())
    const found: Machine[] = []
    let after = cursor === undefined ? '' : readPageToken(pageTokenKey, list, cursor)
    let isWhole = false
    // One more than asked for tells whether there is another page.
    for (let looked = 0; looked < WINDOW && found.length <= limit && !isWhole; looked += SLICE) {
      const slice = await readMachines(reader, org, { after, limit: SLICE })
      found.push(...slice.filter(isWanted))
      after = slice.at(-1)?.device.id ?? after
      isWhole = slice.length < SLICE
      await nextTurn()
    }
    const shown = found.slice(0, limit)
    if (found.length > limit) after = shown.at(-1)?.device.id ?? after
    const isLast = isWhole && found.length <= limit
    return {
      data: shown.map(formatMachine),
      next_cursor: isLast ? null : formatPageToken(pageTokenKey, list, after),
    }
  })
}

type Filter = Omit<ListDevicesQuery, 'page_size' | 'cursor'>

function createFilter(
  { user, state, revision, label, silent_for_seconds }: Filter,
  nowMs: number,
): (machine: Machine) => boolean {
  const silentSinceMs = nowMs - Number(silent_for_seconds) * 1000
  const tests: (((machine: Machine) => boolean) | false)[] = [
    user !== undefined && (({ device }) => device.username === user),
    label !== undefined && (({ device }) => device.labels.includes(label)),
    state !== undefined && (({ report }) => report?.state === state),
    revision !== undefined && (({ report }) => report?.revision === Number(revision)),
    // One that was revoked is supposed to be silent.
    silent_for_seconds !== undefined &&
      ((machine) => machine.device.revoked_at === null && lastSignOfLife(machine) < silentSinceMs),
  ]
  const wanted = tests.filter((test) => test !== false)
  return (machine) => wanted.every((test) => test(machine))
}
