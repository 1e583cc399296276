import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPolicyFormats } from '../../../../server/src/views/content/formatted-policies.ts'
import type { StoreReader, StoreWriter } from '../../../../server/src/store/store.ts'
import { rollout } from '../../history/audit/audited-rollout-writes.ts'
import { openGovernedApp, START, type GovernedApp } from '../../http/governed-app.ts'

const at = { org: 'acme', created_at: START.toISOString(), updated_at: START.toISOString() }
const IDS = ['pol_1', 'pol_2', 'pol_3']

let governed: GovernedApp

beforeEach(async () => {
  governed = await openGovernedApp()
  await governed.store.transaction(async ({ policies }) => {
    for (const id of IDS) await policies.insert({ ...at, id, name: id, teams: [] })
  })
})
afterEach(() => governed.close())

function rename(id: string, name: string): Promise<unknown> {
  return governed.store.transaction(({ policies }) =>
    policies.update({ ...at, id, name, teams: [], mode: undefined }),
  )
}

/** The formatted policies, and the policies that were read for them. */
async function format(
  formats: ReturnType<typeof createPolicyFormats>,
  base: Parameters<typeof formats.prepare>[2],
) {
  const read: string[] = []
  const observed = (reader: StoreReader): StoreReader => ({
    ...reader,
    policies: {
      ...reader.policies,
      find: (org, id) => (read.push(id), reader.policies.find(org, id)),
    },
    rollouts: {
      ...reader.rollouts,
      basePolicy: (org, of, id) => (read.push(id), reader.rollouts.basePolicy(org, of, id)),
    },
  })
  const turns = vi.fn<() => void>()
  await formats.prepare(
    {
      read: (work) => {
        turns()
        return governed.store.read((reader) => work(observed(reader)))
      },
    },
    'acme',
    base,
  )
  const prepared = [...read]
  const { policies } = await governed.store.read(async (reader) => {
    const organization = await reader.organizations.find('acme')
    return formats.read(observed(reader), organization!, base)
  })
  expect(read).toEqual(prepared)
  const names = policies.map(({ document }) => JSON.parse(document.body.toString()).name)
  return { names, read, reads: turns.mock.calls.length }
}

describe('formatted policies', () => {
  it('are read one at a time, each from its own snapshot', async () => {
    expect(await format(createPolicyFormats(), null)).toEqual({ names: IDS, read: IDS, reads: 4 })
  })

  it('are read again only after a change', async () => {
    const formats = createPolicyFormats()
    await format(formats, null)
    await rename('pol_2', 'renamed')

    expect(await format(formats, null)).toMatchObject({
      names: ['pol_1', 'renamed', 'pol_3'],
      read: ['pol_2'],
    })
    expect((await format(formats, null)).read).toEqual([])
  })

  it('of a rollout are those of its start, and read only if changed since', async () => {
    const formats = createPolicyFormats()
    await format(formats, null)
    const revision = await governed.store.transaction(startRollout)
    await rename('pol_2', 'renamed')
    await format(formats, null)

    expect(await format(formats, { rollout: 'r1', revision })).toMatchObject({
      names: IDS,
      read: ['pol_2'],
    })
    expect((await format(formats, null)).names).toEqual(['pol_1', 'renamed', 'pol_3'])
  })

  it('of a transaction are not cached', async () => {
    const formats = createPolicyFormats()
    await format(formats, null)
    const undone = governed.store.transaction(async (writer) => {
      await writer.policies.update({
        ...at,
        id: 'pol_1',
        name: 'undone',
        teams: [],
        mode: undefined,
      })
      const organization = await writer.organizations.find('acme')
      await formats.readUncommitted(writer, organization!, null)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await rename('pol_1', 'done')

    expect((await format(formats, null)).names).toEqual(['done', 'pol_2', 'pol_3'])
  })
})

async function startRollout(writer: StoreWriter): Promise<number> {
  const { revision = 0 } = (await writer.organizations.find('acme')) ?? {}
  await writer.rollouts.insert(rollout('r1', { base_revision: revision }))
  return revision
}
