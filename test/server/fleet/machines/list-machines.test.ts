import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../../../../server/src/identity/principal.ts'
import { listMachines } from '../../../../server/src/fleet/machines/list-machines.ts'
import { createWorkBudget, type Payer } from '../../../../server/src/work/work-budget.ts'
import type { Store, StoreReader } from '../../../../server/src/store/store.ts'
import { openTestStore } from '../../store/test-store.ts'
import { atEndOfTests, temporaryDirectory } from '../../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const DEVICES = 10_050
const LAST = 'd10049'
const CALLER: Caller = {
  kind: 'organization',
  org: 'acme',
  tokenId: 't1',
  rootTokenId: 't1',
  permissions: ['organization:admin'],
  author: { actor: 'organization:acme:t1', address: null, request_id: null },
}

describe('a list of the devices of a large fleet', () => {
  let store: Store

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    const opened = await openTestStore(temporaryDirectory(atEnd))
    afterAll(() => opened.discard())
    store = opened.store
    await store.transaction(async (writer) => {
      const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
      await writer.organizations.insert({ name: 'acme', ...settings })
      for (let n = 0; n < DEVICES; n += 1) {
        const id = `d${String(n).padStart(5, '0')}`
        await writer.devices.insert({
          id,
          org: 'acme',
          username: null,
          thumbprint: id,
          name: null,
          labels: id === LAST ? ['last'] : [],
          enrolment_token_id: null,
          created_at: NOW,
          revoked_at: null,
        })
      }
      await writer.deviceReports.put([
        {
          device_id: LAST,
          reported_at: NOW,
          revision: 1,
          state: 'stale',
          error_code: null,
          error_detail: null,
          grant_id: null,
          grant_begun_at: null,
          proxy_enforcement: null,
          assurance: null,
          policy_digest: null,
          agent_version: '0.1.0',
        },
      ])
    })
  })

  /** The list, its number of reads, and the charged callers. */
  async function list(query: object, burstMs = 1_000) {
    const allowance = { burstMs, perSecondMs: 1 }
    const limits = { organization: allowance, caller: allowance, reservedMs: 0 }
    const budget = createWorkBudget({ limits, clockMs: () => 0 })
    const payers: Payer[] = []
    let reads = 0
    const deps = {
      store: {
        read<T>(work: (reader: StoreReader) => Promise<T>) {
          reads += 1
          return store.read(work)
        },
      },
      budget: {
        ...budget,
        begin: (payer: Payer) => {
          payers.push(payer)
          return budget.begin(payer)
        },
      },
      pageTokenKey: new Uint8Array(32),
      now: () => new Date(NOW),
    }
    const page = await listMachines(deps, CALLER, 'acme', query)
    return { ids: page.data.map(({ id }) => id), next: page.next_cursor, reads, payers }
  }

  it('examines 10,000 in one request, in reads of 1,000, and continues after them', async () => {
    const first = await list({ state: 'stale' })
    const second = await list({ state: 'stale', cursor: first.next ?? '' })

    expect(first).toMatchObject({ ids: [], reads: 10, payers: [{ org: 'acme' }] })
    expect(first.next).not.toBeNull()
    expect(second).toMatchObject({ ids: [LAST], next: null, reads: 1, payers: [] })
  })

  it('finds a label or a page in one read, without a charge', async () => {
    expect(await list({ label: 'last' })).toMatchObject({ ids: [LAST], next: null, reads: 1 })
    expect(await list({ label: 'none' })).toMatchObject({ ids: [], next: null, reads: 1 })
    const page = await list({ page_size: '2' }, 0)
    expect(page).toMatchObject({ ids: ['d00000', 'd00001'], reads: 1, payers: [] })
  })

  it('returns 429 when it must read further without budget', async () => {
    await expect(list({ state: 'stale' }, 0)).rejects.toMatchObject({
      status: 429,
      headers: { 'retry-after': expect.any(String) },
    })
  })
})
