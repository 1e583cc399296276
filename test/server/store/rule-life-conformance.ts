import { describe, expect, it } from 'vitest'
import type { PolicyHeadRecord, RuleRecord } from '../../../server/src/store/records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const EXPIRY = '2026-12-31T18:00:00.000Z'
const AT = { org: 'acme', policyId: 'pol_1', updated_at: NOW }
const POLICY: Omit<PolicyHeadRecord, 'revision'> = {
  id: 'pol_1',
  org: 'acme',
  name: 'one',
  teams: [],
  created_at: NOW,
  updated_at: NOW,
}
const RULE: RuleRecord = {
  id: 'rule_1',
  name: 'web',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['example.com:443'],
}

/** Expiry of rules, modes of policies, and default decisions. */
export function describeRuleLife(store: () => Store, team: string): void {
  const readPolicy = () => store().read((reader) => reader.policies.find('acme', 'pol_1'))
  const readDefaults = () =>
    store().read(async ({ organizations, teams }) => ({
      organization: (await organizations.find('acme'))?.default,
      team: (await teams.find('acme', team))?.default,
      listed: (await teams.list('acme')).flatMap((one) => one.default ?? []),
      page: (await teams.page('acme', { after: '', limit: 10 })).flatMap(
        (one) => one.default ?? [],
      ),
      defaults: [...(await teams.defaults('acme'))],
    }))

  describe('the life of rules', () => {
    it('keeps the expiry of a rule, takes it away, and has none otherwise', async () => {
      const expiring = { ...RULE, expires_at: EXPIRY }
      await store().transaction(async ({ policies }) => {
        await policies.insert(POLICY)
        expect((await policies.insertRule(AT, expiring)).rules).toEqual([expiring])
      })
      expect((await readPolicy())?.rules).toEqual([expiring])

      await store().transaction(({ policies }) => policies.updateRule(AT, RULE))
      expect((await readPolicy())?.rules).toStrictEqual([RULE])

      await store().transaction(({ policies }) => policies.replaceRules(AT, [expiring]))
      const found = await store().read((reader) => reader.policies.listWithRules('acme'))
      expect(found[0]?.rules).toStrictEqual([expiring])
    })

    it('keeps the mode of a policy until an update names another', async () => {
      await store().transaction(({ policies }) => policies.insert({ ...POLICY, mode: 'shadow' }))
      expect((await readPolicy())?.mode).toBe('shadow')

      const updated = await store().transaction(({ policies }) =>
        policies.update({ ...POLICY, name: 'two', mode: 'shadow' }),
      )
      expect(updated).toEqual(await readPolicy())
      expect(updated).toMatchObject({ name: 'two', mode: 'shadow' })

      const ended = await store().transaction(async ({ policies }) => {
        await policies.find('acme', 'pol_1')
        return policies.update({ ...POLICY, mode: undefined })
      })
      expect(ended).not.toHaveProperty('mode')
      expect(await readPolicy()).toStrictEqual(ended)
    })

    it('keeps the default decision of an organization and of a team', async () => {
      const none = { organization: undefined, team: undefined, listed: [], page: [], defaults: [] }
      expect(await readDefaults()).toEqual(none)

      await store().transaction(async ({ organizations, teams }) => {
        await organizations.updateDefault('acme', 'enforce')
        await teams.updateDefault('acme', team, 'observe')
        expect((await organizations.find('acme'))?.default).toBe('enforce')
      })
      expect(await readDefaults()).toEqual({
        organization: 'enforce',
        team: 'observe',
        listed: ['observe'],
        page: ['observe'],
        defaults: [[team, 'observe']],
      })

      await store().transaction(async ({ organizations, teams }) => {
        await organizations.updateDefault('acme', null)
        await teams.updateDefault('acme', team, null)
      })
      expect(await readDefaults()).toEqual(none)
    })

    it('keeps the support message of an organization', async () => {
      const read = async () => await store().read(({ organizations }) => organizations.find('acme'))
      const put = (text: string | null) =>
        store().transaction(({ organizations }) => organizations.updateSupportMessage('acme', text))

      await put('Ask “us” ☎')
      expect(await read()).toMatchObject({ support_message: 'Ask “us” ☎' })
      await put(null)
      expect(await read()).not.toHaveProperty('support_message')
    })

    it('refuses the default of a team of another organization', async () => {
      await expect(
        store().transaction(({ teams }) => teams.updateDefault('rival', team, 'observe')),
      ).rejects.toMatchObject({ code: 'ERR_STORE_NOT_FOUND' })
      expect((await readDefaults()).team).toBeUndefined()
    })
  })
}
