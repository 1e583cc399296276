import type { UploadedRule, UploadedShadow } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { appendRows, DAY_MS, listAll, NOW_MS, row, TODAY } from './evidence-batches.ts'

const ruleOf = (rule_id: string): UploadedRule => ({
  policy_id: 'pol_1',
  rule_id,
  decision: 'deny',
  origin: 'org',
})
const SHADOW: UploadedShadow = { decision: 'deny', reason: 'rule', rules: [ruleOf('shadow')] }

/** Outcomes with shadow policies, and the matches of a rule. */
export function describeRuleUse(store: () => EvidenceStore): void {
  const useOf = (rule: string, bounds = {}, org = 'acme') =>
    store().ruleUse(org, rule, { day: 0, seeks: 100, ...bounds })
  const unused = { devices: [], isComplete: true, isShadowed: false }

  describe('the outcome with the shadow policies', () => {
    it('is kept apart from equal rows without it, and found by its decision', async () => {
      await appendRows(store(), [
        row(),
        row({ tuple: { shadow: SHADOW } }),
        row({ tuple: { shadow: { ...SHADOW, reason: 'default_deny', rules: [] } } }),
        row({ tuple: { decision: 'deny', shadow: { ...SHADOW, decision: 'allow' } } }),
      ])

      expect(await listAll(store())).toHaveLength(4)
      const denied = await listAll(store(), { shadow: 'deny' })
      expect(denied.map(({ tuple }) => tuple.shadow)).toEqual(
        expect.arrayContaining([SHADOW, { ...SHADOW, reason: 'default_deny', rules: [] }]),
      )
      expect(denied).toHaveLength(2)
      expect(await listAll(store(), { shadow: 'allow' })).toHaveLength(1)
      expect((await listAll(store())).filter(({ tuple }) => 'shadow' in tuple)).toHaveLength(3)
    })
  })

  describe('the use of a rule', () => {
    it('is that of its decisions, with their devices, in its organization alone', async () => {
      const rows = [row({ tuple: { rules: [ruleOf('used')] } })]
      await appendRows(store(), rows)
      await appendRows(store(), rows, { device_id: 'dev_2' })
      await appendRows(store(), rows, { device_id: 'dev_3', org: 'rival' })

      const use = await useOf('used')
      expect({ ...use, devices: use.devices.toSorted() }).toEqual({
        ...unused,
        devices: ['dev_1', 'dev_2'],
      })
      expect(await useOf('other')).toEqual(unused)
      expect(await useOf('used', {}, 'nowhere')).toEqual(unused)
    })

    it('leaves out questions, which no enforcement point decided', async () => {
      const asked = { point: 'local_api', rules: [ruleOf('asked')], shadow: SHADOW }
      await appendRows(store(), [row({ tuple: asked })])
      expect(await useOf('asked')).toEqual(unused)
      expect(await useOf('shadow')).toEqual(unused)

      await appendRows(store(), [row({ tuple: { ...asked, point: 'proxy' } })])
      expect(await useOf('asked')).toMatchObject({ devices: ['dev_1'] })
    })

    it('tells a rule that only shadow policies would match', async () => {
      await appendRows(store(), [row({ tuple: { rules: [ruleOf('used')], shadow: SHADOW } })])

      expect(await useOf('shadow')).toEqual({ ...unused, isShadowed: true })
      expect(await useOf('used')).toMatchObject({ devices: ['dev_1'], isShadowed: false })
    })

    it('begins with its first day, and says when it is not whole', async () => {
      const of = (days: number, host: string) =>
        row({ last_ms: NOW_MS - days * DAY_MS, tuple: { host, rules: [ruleOf('used')] } })
      await appendRows(store(), [of(5, 'a.example')])
      await appendRows(store(), [of(3, 'b.example')], { device_id: 'dev_2' })

      expect((await useOf('used')).devices).toHaveLength(2)
      expect(await useOf('used', { day: TODAY - 4 })).toMatchObject({ devices: ['dev_2'] })
      expect(await useOf('used', { day: TODAY - 2 })).toEqual(unused)
      expect(await useOf('used', { seeks: 1 })).toMatchObject({
        devices: ['dev_2'],
        isComplete: false,
      })
      expect(await store().firstDay('acme')).toBe(TODAY - 5)
      expect(await store().firstDay('rival')).toBeNull()
    })

    it('ends with the removal of its days', async () => {
      const tuple = { rules: [ruleOf('used')], shadow: SHADOW }
      await appendRows(store(), [row({ last_ms: NOW_MS - 5 * DAY_MS, tuple })])

      await store().dropBefore(TODAY)

      expect(await useOf('used')).toEqual(unused)
      expect(await useOf('shadow')).toEqual(unused)
      expect(await store().firstDay('acme')).toBeNull()
    })
  })
}
