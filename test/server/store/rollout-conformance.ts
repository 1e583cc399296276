import { describe, expect, it } from 'vitest'
import type { RolloutRecord } from '../../../server/src/store/distribution-records.ts'
import type { PolicyRecord, RuleRecord } from '../../../server/src/store/records.ts'
import type { RolloutReader } from '../../../server/src/store/aggregates/policies/rollout-contract.ts'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'
import { rollout } from '../history/audit/audited-rollout-writes.ts'

const LATER = '2026-11-21T09:00:00.000Z'
const WATCH = { evaluated_at: LATER, policies_hash: 'h', policies_since: LATER }

const TEAM = '11111111-1111-4111-8111-111111111111'
const RULE: RuleRecord = {
  id: 'rule_1',
  name: '__proto__',
  actions: ['connect:tcp'],
  decision: 'deny',
  resources: ['Example.com:443'],
}
const at = (policyId: string) => ({ org: 'acme', policyId, updated_at: LATER })

async function insertPolicy(writer: StoreWriter, id: string): Promise<PolicyRecord> {
  const times = { created_at: LATER, updated_at: LATER }
  await writer.policies.insert({ id, org: 'acme', name: `${id} "ü"`, teams: [TEAM], ...times })
  return writer.policies.insertRule(at(id), RULE)
}

/** Like the server: at the current revision of the organization. */
async function insertNow(writer: StoreWriter, changes: Partial<RolloutRecord>): Promise<void> {
  const { org } = rollout('r1', changes)
  const { revision = 0 } = (await writer.organizations.find(org)) ?? {}
  await writer.rollouts.insert(rollout('r1', { base_revision: revision, ...changes }))
}

/** Policies of rollout `r1`. */
async function readBase(rollouts: RolloutReader, org: string) {
  const policies: (PolicyRecord | null)[] = []
  for (const id of await rollouts.baseIds(org, 'r1'))
    policies.push(await rollouts.basePolicy(org, 'r1', id))
  return policies
}

/** Guarantees of every driver for rollouts; `store` holds the seed of `describeStore`. */
export function describeRollouts(store: () => Store): void {
  const start = (changes: Partial<RolloutRecord> = {}) =>
    store().transaction((writer) => insertNow(writer, changes))
  const insertPolicies = (...ids: string[]) =>
    store().transaction(async (writer) => {
      const inserted: PolicyRecord[] = []
      for (const id of ids) inserted.push(await insertPolicy(writer, id))
      return inserted
    })
  const base = () => store().read(({ rollouts }) => readBase(rollouts, 'acme'))
  const update = (changes: Partial<RolloutRecord>) =>
    store().transaction((writer) => writer.rollouts.update(rollout('r1', changes)))

  describe('rollouts', () => {
    it('are found unchanged, with the policies of their start', async () => {
      const written = { base_revision: 9, wait_seconds: 60, max_rejected: { machines: 3 } }
      const [second, first] = await insertPolicies('pol_2', 'pol_1')
      await start(written)

      const found = await store().read(async ({ rollouts }) => ({
        one: await rollouts.find('acme', 'r1'),
        open: await rollouts.findOpen('acme'),
        openId: await rollouts.findOpenId('acme'),
        running: await rollouts.listRunning(),
        base: await readBase(rollouts, 'acme'),
      }))

      const expected = rollout('r1', written)
      expect(found).toEqual({
        one: expected,
        open: expected,
        openId: 'r1',
        running: [expected],
        base: [first, second],
      })
    })

    const CHANGES: Record<string, (writer: StoreWriter, id: string) => Promise<unknown>> = {
      'a new name': ({ policies }, id) =>
        policies.update({
          org: 'acme',
          id,
          name: `other ${id}`,
          teams: [],
          mode: undefined,
          updated_at: LATER,
        }),
      'a new mode': ({ policies }, id) =>
        policies.update({
          org: 'acme',
          id,
          name: `policy ${id}`,
          teams: [],
          mode: 'shadow',
          updated_at: LATER,
        }),
      'a new rule': ({ policies }, id) =>
        policies.insertRule(at(id), { ...RULE, id: 'rule_2', name: 'other' }),
      'a changed rule': ({ policies }, id) =>
        policies.updateRule(at(id), { ...RULE, name: 'other' }),
      'one rule less': ({ policies }, id) => policies.deleteRule(at(id), RULE.id),
      'other rules': ({ policies }, id) => policies.replaceRules(at(id), []),
      'its end': ({ policies }, id) => policies.delete('acme', id),
    }
    it.each(Object.keys(CHANGES))('keep a policy from before %s', async (kind) => {
      const policies = await insertPolicies('pol_1', 'pol_2')
      await start()
      const change = (writer: StoreWriter) => CHANGES[kind]!(writer, 'pol_1')

      await store().transaction(change)

      expect(await base()).toEqual(policies)
      expect(await store().transaction(({ rollouts }) => readBase(rollouts, 'acme'))).toEqual(
        policies,
      )
    })

    it('do not store later changes, or policies created after their start', async () => {
      const policies = await insertPolicies('pol_1', 'pol_2')
      await store().transaction(async (writer) => {
        await insertNow(writer, {})
        await insertPolicy(writer, 'pol_3')
        await CHANGES['other rules']!(writer, 'pol_1')
      })

      for (const kind of ['a new rule', 'a new name', 'its end'])
        for (const id of ['pol_1', 'pol_3'])
          await store().transaction((writer) => CHANGES[kind]!(writer, id))

      expect(await base()).toEqual(policies)
    })

    it('do not store changes that are rolled back', async () => {
      const policies = await insertPolicies('pol_1')
      const undone = (work: (writer: StoreWriter) => Promise<unknown>) =>
        store().transaction(async (writer) => {
          await work(writer)
          throw new Error('undone')
        })
      await expect(undone((writer) => insertNow(writer, {}))).rejects.toThrow('undone')
      await start()
      await expect(undone((writer) => CHANGES['its end']!(writer, 'pol_1'))).rejects.toThrow(
        'undone',
      )

      await store().transaction((writer) => CHANGES['a new name']!(writer, 'pol_1'))

      expect(await base()).toEqual(policies)
    })

    it('start with their own policies', async () => {
      await insertPolicies('pol_1')
      await start()
      await store().transaction((writer) => CHANGES['other rules']!(writer, 'pol_1'))
      await update({ state: 'finished', ended_at: LATER })
      await store().transaction((writer) => CHANGES['a new name']!(writer, 'pol_1'))
      const policies = [await store().read((reader) => reader.policies.find('acme', 'pol_1'))]

      await start({ id: 'r2', created_at: LATER })
      await store().transaction((writer) => CHANGES['its end']!(writer, 'pol_1'))

      const found = await store().read(async ({ rollouts }) => ({
        ids: await rollouts.baseIds('acme', 'r2'),
        policy: await rollouts.basePolicy('acme', 'r2', 'pol_1'),
        ofTheFirst: await rollouts.basePolicy('acme', 'r1', 'pol_1'),
      }))
      expect(found).toEqual({ ids: ['pol_1'], policy: policies[0], ofTheFirst: null })
    })

    it('belong to one organization', async () => {
      await insertPolicies('pol_1')
      await start()

      const found = await store().read(async ({ rollouts }) => [
        await rollouts.find('rival', 'r1'),
        await rollouts.findOpen('rival'),
        ...(await rollouts.page('rival', { before: null, limit: 10 })),
        await rollouts.basePolicy('rival', 'r1', 'pol_1'),
        ...(await rollouts.baseIds('rival', 'r1')),
      ])

      expect(found).toEqual([null, null, null])
    })

    it('are open one at a time in each organization', async () => {
      await start()

      const second = store().transaction(({ rollouts }) => rollouts.insert(rollout('r2')))
      await expect(second).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })

      await store().transaction(async ({ rollouts }) => {
        await rollouts.insert(rollout('r3', { org: 'rival' }))
        await rollouts.update(rollout('r1', { state: 'finished', ended_at: LATER }))
        await rollouts.insert(rollout('r2', { created_at: LATER }))
      })
      const listed = await store().read(({ rollouts }) =>
        rollouts.page('acme', { before: null, limit: 10 }),
      )
      expect(listed.map(({ id, state }) => `${id} ${state}`)).toEqual(['r2 running', 'r1 finished'])
    })

    it('are listed in pages, newest first, then by id', async () => {
      const ended = { state: 'finished', ended_at: LATER } as const
      const created_at = '2026-11-21T07:00:00.000Z'
      await store().transaction(async ({ rollouts }) => {
        for (const id of ['a', 'b', 'c', 'd'])
          await rollouts.insert(
            rollout(id, { ...ended, created_at: id === 'd' ? LATER : created_at }),
          )
        await rollouts.insert(rollout('other', { org: 'rival', created_at }))
      })
      const page = (before: { created_at: string; id: string } | null, limit: number) =>
        store().read(async ({ rollouts }) =>
          (await rollouts.page('acme', { before, limit })).map(({ id }) => id),
        )

      expect(await page(null, 9)).toEqual(['d', 'c', 'b', 'a'])
      expect(await page(null, 2)).toEqual(['d', 'c'])
      expect(await page({ created_at, id: 'c' }, 2)).toEqual(['b', 'a'])
      expect(await page({ created_at: LATER, id: 'd' }, 1)).toEqual(['c'])
      expect(await page({ created_at, id: 'a' }, 2)).toEqual([])
    })

    it('change only in their mutable members', async () => {
      await start({ base_revision: 9 })
      const paused = {
        state: 'paused',
        paused_at: LATER,
        paused_by: 'x',
        pause_reason: 'y',
      } as const
      const changes = { ...paused, stage: 2, stage_at: LATER, counted_from: LATER }

      await update({ ...changes, base_revision: 1, created_by: 'eve', stages: [] })

      const found = await store().read(({ rollouts }) => rollouts.find('acme', 'r1'))
      expect(found).toEqual(rollout('r1', { base_revision: 9, ...changes }))
      expect(await store().read(({ rollouts }) => rollouts.listRunning())).toEqual([])
    })

    it('lose the policies of their start exactly at their end', async () => {
      await insertPolicies('pol_1', 'pol_2')
      await start()
      await store().transaction((writer) => CHANGES['a new name']!(writer, 'pol_1'))
      const count = async () => (await base()).length

      await update({ stage: 2 })
      expect(await count()).toBe(2)
      await update({ state: 'rolled_back', ended_at: LATER })
      expect(await count()).toBe(0)
      expect(await store().read(({ rollouts }) => rollouts.findOpen('acme'))).toBeNull()
      expect(await store().read(({ rollouts }) => rollouts.findOpenId('acme'))).toBeNull()
    })

    it('raise the revision only with a stage and at the end', async () => {
      const revision = () =>
        store().read(async (reader) => (await reader.organizations.find('acme'))?.revision)
      const seen = [await revision()]
      const steps: Partial<RolloutRecord>[] = [
        { state: 'paused', paused_at: LATER, paused_by: 'x' },
        {},
        { stage: 2 },
        { stage: 2, state: 'finished', ended_at: LATER },
      ]

      await start()
      seen.push(await revision())
      for (const step of steps) {
        await update(step)
        seen.push(await revision())
      }

      const first = seen[0] ?? 0
      expect(seen.map((each) => (each ?? 0) - first)).toEqual([0, 0, 0, 0, 1, 2])
    })

    it('cannot be changed if they do not exist', async () => {
      await expect(update({})).rejects.toMatchObject({ code: 'ERR_STORE_NOT_FOUND' })
    })

    it('invalidate caches of machines, unlike the time of their evaluation', async () => {
      let before = store().generation('accounts')
      const noticed = () => {
        const after = store().generation('accounts')
        const isNoticed = after !== before
        before = after
        return isNoticed
      }

      await start()
      expect(noticed()).toBe(true)
      await update({ stage: 2 })
      expect(noticed()).toBe(true)
      const all = store().generation()
      await store().transaction(({ rollouts }) => rollouts.putWatch('r1', WATCH))
      await store().transaction(({ rollouts }) =>
        rollouts.putWatch('r1', { ...WATCH, policies_hash: 'other' }),
      )
      expect([noticed(), store().generation()]).toEqual([false, all])
      expect(await store().read(({ rollouts }) => rollouts.watch('r1'))).toEqual({
        ...WATCH,
        policies_hash: 'other',
      })
      expect(await store().read(({ rollouts }) => rollouts.watch('r2'))).toBeNull()
    })
  })
}
