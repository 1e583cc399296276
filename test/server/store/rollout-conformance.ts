import { describe, expect, it } from 'vitest'
import type { RolloutRecord } from '../../../server/src/store/distribution-records.ts'
import type { PolicyRecord } from '../../../server/src/store/records.ts'
import type { RolloutReader } from '../../../server/src/store/contract/rollouts.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { rollout } from '../history/audited-rollout-writes.ts'

const LATER = '2026-11-21T09:00:00.000Z'
const WATCH = { evaluated_at: LATER, policies_hash: 'h', policies_since: LATER }

const policy = (id: string): PolicyRecord => ({
  id,
  org: 'acme',
  name: `${id} "ü"`,
  teams: ['11111111-1111-4111-8111-111111111111'],
  created_at: LATER,
  updated_at: LATER,
  revision: 3,
  rules: [
    {
      id: 'rule_1',
      name: '__proto__',
      actions: ['connect:tcp'],
      decision: 'deny',
      resources: ['Example.com:443'],
    },
  ],
})

/** Of rollout `r1`. */
async function readBase(rollouts: RolloutReader, org: string) {
  const policies: (PolicyRecord | null)[] = []
  for (const id of await rollouts.baseIds(org, 'r1'))
    policies.push(await rollouts.basePolicy(org, 'r1', id))
  return policies
}

/** What every driver promises of rollouts; `store` holds the seed of `describeStore`. */
export function describeRollouts(store: () => Store): void {
  const start = (changes: Partial<RolloutRecord> = {}, base: PolicyRecord[] = []) =>
    store().transaction((writer) => writer.rollouts.insert(rollout('r1', changes), base))
  const update = (changes: Partial<RolloutRecord>) =>
    store().transaction((writer) => writer.rollouts.update(rollout('r1', changes)))

  describe('rollouts', () => {
    it('are found as they were written, with the policies that they began with', async () => {
      const written = { wait_seconds: 60, max_rejected: { machines: 3 } }
      await start(written, [policy('pol_2'), policy('pol_1')])

      const found = await store().read(async ({ rollouts }) => ({
        one: await rollouts.find('acme', 'r1'),
        open: await rollouts.findOpen('acme'),
        running: await rollouts.listRunning(),
        base: await readBase(rollouts, 'acme'),
      }))

      const expected = rollout('r1', written)
      expect(found).toEqual({
        one: expected,
        open: expected,
        running: [expected],
        base: [policy('pol_1'), policy('pol_2')],
      })
    })

    it('are there for their organization alone', async () => {
      await start({}, [policy('pol_1')])

      const found = await store().read(async ({ rollouts }) => [
        await rollouts.find('rival', 'r1'),
        await rollouts.findOpen('rival'),
        ...(await rollouts.list('rival', 10)),
        await rollouts.basePolicy('rival', 'r1', 'pol_1'),
        ...(await rollouts.baseIds('rival', 'r1')),
      ])

      expect(found).toEqual([null, null, null])
    })

    it('are open one at a time, by organization', async () => {
      await start()

      const second = store().transaction(({ rollouts }) => rollouts.insert(rollout('r2'), []))
      await expect(second).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })

      await store().transaction(async ({ rollouts }) => {
        await rollouts.insert(rollout('r3', { org: 'rival' }), [])
        await rollouts.update(rollout('r1', { state: 'finished', ended_at: LATER }))
        await rollouts.insert(rollout('r2', { created_at: LATER }), [])
      })
      const listed = await store().read(({ rollouts }) => rollouts.list('acme', 10))
      expect(listed.map(({ id, state }) => `${id} ${state}`)).toEqual(['r2 running', 'r1 finished'])
      expect(await store().read(({ rollouts }) => rollouts.list('acme', 1))).toHaveLength(1)
    })

    it('change in what may change, and keep the rest', async () => {
      await start()
      const paused = {
        state: 'paused',
        paused_at: LATER,
        paused_by: 'x',
        pause_reason: 'y',
      } as const
      const changes = { ...paused, stage: 2, stage_at: LATER, counted_from: LATER }

      await update({ ...changes, base_revision: 1, created_by: 'eve', stages: [] })

      const found = await store().read(({ rollouts }) => rollouts.find('acme', 'r1'))
      expect(found).toEqual(rollout('r1', changes))
      expect(await store().read(({ rollouts }) => rollouts.listRunning())).toEqual([])
    })

    it('lose the policies that they began with at their end, and not before', async () => {
      await start({}, [policy('pol_1')])
      const count = async () =>
        (await store().read(({ rollouts }) => readBase(rollouts, 'acme'))).length

      await update({ stage: 2 })
      expect(await count()).toBe(1)
      await update({ state: 'rolled_back', ended_at: LATER })
      expect(await count()).toBe(0)
      expect(await store().read(({ rollouts }) => rollouts.findOpen('acme'))).toBeNull()
    })

    it('raise the revision with a stage and at the end, and otherwise not', async () => {
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

    it('are not changed where there is none', async () => {
      await expect(update({})).rejects.toMatchObject({ code: 'ERR_STORE_NOT_FOUND' })
    })

    it('are noticed wherever machines are remembered, unlike when they were judged', async () => {
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
