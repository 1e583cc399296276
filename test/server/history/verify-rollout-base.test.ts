import { beforeEach, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { pruneHistory } from '../../../server/src/history/prune-history.ts'
import {
  describeFaults,
  verifyOrganization,
} from '../../../server/src/history/verify-organization.ts'
import { AT, LATER, NOW, POLICY, RULE } from './audit/audited-records.ts'
import { rollout } from './audit/audited-rollout-writes.ts'
import { createDatabaseFile, type DatabaseFile } from './database-file.ts'
import { furnish } from './furnished-organization.ts'

const now = () => new Date(NOW)
const KEPT = { ...POLICY, id: 'pol_kept', name: 'kept' }
const NEW = { ...POLICY, id: 'pol_new', name: 'new' }

let database: DatabaseFile
beforeEach(async () => {
  database = createDatabaseFile()
  await database.withStore(async (store) => {
    const audited = createAuditedStore({ store, now })
    await audited.write(OPERATOR, async (writer) => {
      await furnish(writer)
      await writer.policies.insert(KEPT)
      const { revision = 0 } = (await writer.organizations.find('acme')) ?? {}
      await writer.rollouts.insert({ ...rollout('ro0'), base_revision: revision })
    })
    await audited.write(OPERATOR, async (writer) => {
      await writer.policies.updateRule(AT, { ...RULE, id: 'rule_0', resources: ['x.example'] })
      await writer.policies.insert(NEW)
    })
  })
})

const faults = async () =>
  describeFaults(
    await database.withStore((store) =>
      store.read((reader) => verifyOrganization(reader, 'acme', { state: true })),
    ),
  )

const TAMPERINGS: readonly (readonly [string, string, RegExp])[] = [
  [
    'a widened rule of a copy',
    `UPDATE rollout_policies
     SET policy = json_set(policy, '$.rules[0].resources', json('["**.evil.org"]'))`,
    /rollout policy `one`: `rules` not as in event \d+$/,
  ],
  [
    'a copy without its rules',
    `UPDATE rollout_policies SET policy = json_set(policy, '$.rules', json('[]'))`,
    /rollout policy `one`: `rules` not as in event \d+$/,
  ],
  [
    'a copy for other teams',
    `UPDATE rollout_policies SET policy = json_set(policy, '$.teams', json('[]'))`,
    /rollout policy `one`: `scope` not as in event \d+$/,
  ],
  [
    'a copy in another mode',
    `UPDATE rollout_policies SET policy = json_set(policy, '$.mode', 'shadow')`,
    /rollout policy `one`: `mode` not as in event \d+$/,
  ],
  [
    'a copy that is no policy',
    `UPDATE rollout_policies SET policy = '{}'`,
    /rollout policy `pol_1`: `name`, `scope`, .* not as in event \d+$/,
  ],
  [
    'a copy that does not parse',
    `UPDATE rollout_policies SET policy = '{'`,
    /rollout policy `pol_1`: `name`, `scope`, .* not as in event \d+$/,
  ],
  [
    'a rollout whose stages do not parse',
    `UPDATE rollouts SET stages = '['`,
    /rollout `ro0`: `state`, `stages`, .* not as in event \d+$/,
  ],
  [
    'a deleted copy',
    'DELETE FROM rollout_policies',
    /rollout policy `one`: not stored, but event \d+ recorded it$/,
  ],
  [
    'an inserted copy',
    `INSERT INTO rollout_policies SELECT rollout_id, 'pol_new', policy FROM rollout_policies`,
    /rollout policy `one`: stored, but no event created it$/,
  ],
  [
    'a later policy that passes as an earlier one',
    `UPDATE policies SET revision = 1 WHERE id = 'pol_new'`,
    /rollout policy `new`: stored, but no event created it$/,
  ],
]

it('finds no difference in the copies that the server keeps', async () => {
  expect(await faults()).toEqual([])
})

it.each(TAMPERINGS)('names %s', async (_title, statement, fault) => {
  database.tamper(statement)

  expect(await faults()).toEqual([expect.stringMatching(fault)])
})

it.each(TAMPERINGS)('names %s once the events are removed', async (_title, statement, fault) => {
  await database.withStore(async (store) => {
    const deps = { store: createAuditedStore({ store, now }), now }
    const limits = { before: LATER, undeliveredBefore: LATER }
    expect(await pruneHistory(deps, 'acme', limits, OPERATOR)).toMatchObject({ ok: true })
  })
  expect(await faults()).toEqual([])
  database.tamper(statement)

  expect(await faults()).toEqual([expect.stringMatching(fault)])
})

it('expects no copies after the rollout', async () => {
  await database.withStore((store) =>
    createAuditedStore({ store, now }).write(OPERATOR, async ({ rollouts }) => {
      const open = await rollouts.findOpen('acme')
      if (open === null) throw new Error('no rollout is open')
      await rollouts.update({ ...open, state: 'rolled_back', ended_at: LATER })
    }),
  )

  expect(await faults()).toEqual([])
})
