import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rememberHeads } from '../../../server/src/governance/remembered-heads.ts'
import type { StoreReader } from '../../../server/src/store/store.ts'
import { openGovernedApp, START, type GovernedApp } from '../http/governed-app.ts'

const at = { created_at: START.toISOString(), updated_at: START.toISOString(), teams: [] }

let governed: GovernedApp
let listHeads: ReturnType<typeof rememberHeads>

beforeEach(async () => {
  governed = await openGovernedApp()
  listHeads = rememberHeads()
  await governed.store.transaction(async ({ policies }) => {
    for (const id of ['pol_1', 'pol_2']) await policies.insert({ ...at, id, org: 'acme', name: id })
  })
})
afterEach(() => governed.close())

/** Returns the names of the policies and the number of reads from the store. */
function list(org = 'acme') {
  let reads = 0
  return governed.store.read(async (reader) => {
    const observed: StoreReader = {
      ...reader,
      policies: {
        ...reader.policies,
        list: (...page) => ((reads += 1), reader.policies.list(...page)),
      },
    }
    const organization = await reader.organizations.find(org)
    const heads = await listHeads(observed, organization!)
    return { names: heads.map(({ name }) => name), reads }
  })
}

describe('remembered heads of policies', () => {
  it('are read once for each revision of the organization', async () => {
    expect(await list()).toEqual({ names: ['pol_1', 'pol_2'], reads: 1 })
    expect(await list()).toEqual({ names: ['pol_1', 'pol_2'], reads: 0 })
  })

  it('are read again after each change of a policy', async () => {
    await list()
    await governed.store.transaction(({ policies }) =>
      policies.update({ ...at, id: 'pol_1', org: 'acme', name: 'renamed', mode: undefined }),
    )
    expect((await list()).names).toEqual(['renamed', 'pol_2'])

    await governed.store.transaction(({ policies }) => policies.delete('acme', 'pol_2'))
    expect((await list()).names).toEqual(['renamed'])
  })

  it('are not shared between organizations', async () => {
    await list()

    expect((await list('rival')).names).toEqual([])
  })
})
