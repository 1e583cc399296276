import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { PolicyHeadRecord, RuleRecord } from '../../../server/src/store/records.ts'
import type { PolicyUpdate } from '../../../server/src/store/aggregates/policies/policy-contract.ts'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'
import { describeAccessRequests } from './access-conformance.ts'
import { describeConcurrency } from './concurrency-conformance.ts'
import { describeCredentials } from './credential-conformance.ts'
import { signingKey } from './credential-records.ts'
import { describeDeviceSearch } from './device-search-conformance.ts'
import { describeDocuments } from './document-conformance.ts'
import { describeGrants } from './grant-conformance.ts'
import { describeGeneration } from './generation-conformance.ts'
import { describeEvents } from './event-conformance.ts'
import { describeIdempotency } from './idempotency-conformance.ts'
import { describeKnownNetworks } from './known-network-conformance.ts'
import { describeMemory } from './memory-conformance.ts'
import type { OpenStore } from './open-again.ts'
import { describePages } from './page-conformance.ts'
import { describePeople } from './people-conformance.ts'
import { describeRevocations } from './revocation-conformance.ts'
import { describeRollouts } from './rollout-conformance.ts'
import { describeRuleLife } from './rule-life-conformance.ts'
import { describeWebhooks } from './webhook-conformance.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'
const TEAM = '11111111-1111-4111-8111-111111111111'
const OTHER_TEAM = '22222222-2222-4222-8222-222222222222'

const RULE: RuleRecord = {
  id: 'rule_1',
  name: 'web',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['Example.com:443'],
}

function policy(id: string, changes: Partial<PolicyHeadRecord> = {}) {
  return { id, org: 'acme', name: id, teams: [], created_at: NOW, updated_at: NOW, ...changes }
}

/** Guarantees of every driver; `prepare` creates an empty store for one test. */
export function describeStore(name: string, prepare: () => OpenStore | Promise<OpenStore>): void {
  describe(name, () => {
    let open: OpenStore
    let store: Store

    beforeEach(async () => {
      open = await prepare()
      store = await open()
      onTestFinished(() => store.close())
      await store.transaction(seed)
    })

    const revision = (org = 'acme') =>
      store.read(async (reader) => (await reader.organizations.find(org))?.revision ?? -1)

    describe('transactions', () => {
      it('roll back when the work throws, and pass the error on', async () => {
        const before = await revision()
        const error = new Error('stop')

        const attempt = store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1'))
          throw error
        })

        await expect(attempt).rejects.toBe(error)
        expect(await store.read((reader) => reader.policies.count('acme'))).toBe(0)
        expect(await revision()).toBe(before)
      })

      it('roll back when a later write conflicts', async () => {
        const attempt = store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1', { name: 'same' }))
          await writer.policies.insert(policy('pol_2', { name: 'same' }))
        })

        await expect(attempt).rejects.toMatchObject({
          code: 'ERR_STORE_CONFLICT',
          subject: 'policy_name',
        })
        expect(await store.read((reader) => reader.policies.count('acme'))).toBe(0)
      })

      it('continue to work after a failed one', async () => {
        await store.transaction(() => Promise.reject(new Error('stop'))).catch(() => undefined)

        await store.transaction((writer) => writer.policies.insert(policy('pol_1')))

        expect(await store.read((reader) => reader.policies.count('acme'))).toBe(1)
      })

      it('show their writes to themselves, and to readers after the commit', async () => {
        const written = Promise.withResolvers<void>()
        const mayCommit = Promise.withResolvers<void>()
        const count = () => store.read((reader) => reader.policies.count('acme'))
        const running = store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1'))
          expect(await writer.policies.count('acme')).toBe(1)
          written.resolve()
          await mayCommit.promise
        })

        await written.promise
        expect(await count()).toBe(0)
        mayCommit.resolve()
        await running

        expect(await count()).toBe(1)
      })

      it('give a reader one snapshot while others write', async () => {
        const counts = await store.read(async (reader) => {
          const before = await reader.policies.count('acme')
          await store.transaction((writer) => writer.policies.insert(policy('pol_1')))
          return [before, await reader.policies.count('acme')]
        })

        expect(counts).toEqual([0, 0])
      })

      it('let one of many concurrent creates of a name win', async () => {
        const attempts = Array.from({ length: 20 }, (_, index) =>
          store.transaction((writer) =>
            writer.policies.insert(policy(`pol_${index}`, { name: 'wanted' })),
          ),
        )

        const outcomes = await Promise.allSettled(attempts)

        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        expect(await store.read((reader) => reader.policies.count('acme'))).toBe(1)
      })

      it('never exceed a limit that they check', async () => {
        const attempts = Array.from({ length: 20 }, (_, index) =>
          store.transaction(async (writer) => {
            if ((await writer.policies.count('acme')) >= 5) throw new Error('full')
            await writer.policies.insert(policy(`pol_${index}`))
          }),
        )

        await Promise.allSettled(attempts)

        expect(await store.read((reader) => reader.policies.count('acme'))).toBe(5)
      })

      it('work over two openings of the same data', async () => {
        const other = await open()
        onTestFinished(() => other.close())

        await other.transaction((writer) => writer.policies.insert(policy('pol_1')))
        await store.transaction((writer) => writer.policies.insert(policy('pol_2')))

        expect(await other.read((reader) => reader.policies.count('acme'))).toBe(2)
        expect(await store.read((reader) => reader.policies.count('acme'))).toBe(2)
      })

      it('are finished before the store closes', async () => {
        const running = store.transaction(async (writer) => {
          await Promise.resolve()
          await writer.policies.insert(policy('pol_1'))
        })

        await store.close()
        await running

        const reopened = await open()
        onTestFinished(() => reopened.close())
        expect(await reopened.read((reader) => reader.policies.count('acme'))).toBe(1)
      })

      it('are refused once the store is closed', async () => {
        await store.close()

        const unavailable = { code: 'ERR_STORE_UNAVAILABLE' }
        await expect(store.ping()).rejects.toMatchObject(unavailable)
        await expect(store.read((reader) => reader.users.find('ann'))).rejects.toMatchObject(
          unavailable,
        )
        await expect(store.transaction((writer) => writer.users.find('ann'))).rejects.toMatchObject(
          unavailable,
        )
      })
    })

    describe('policies', () => {
      it('keep the order of teams and rules, and every pattern unchanged', async () => {
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1', { teams: [OTHER_TEAM, TEAM] }))
          const at = { org: 'acme', policyId: 'pol_1', updated_at: LATER }
          await writer.policies.insertRule(at, { ...RULE, id: 'rule_9', name: 'first' })
          await writer.policies.insertRule(at, { ...RULE, id: 'rule_1', name: 'second' })
          const resources = ['ü.example', '*.É.example', "it's"]
          await writer.policies.updateRule(at, {
            ...RULE,
            id: 'rule_9',
            name: 'first again',
            resources,
          })
        })

        const found = await store.read((reader) => reader.policies.find('acme', 'pol_1'))

        expect(found?.teams).toEqual([OTHER_TEAM, TEAM])
        expect(found?.updated_at).toBe(LATER)
        expect(found?.rules.map(({ id, name }) => [id, name])).toEqual([
          ['rule_9', 'first again'],
          ['rule_1', 'second'],
        ])
        expect(found?.rules[0]?.resources).toEqual(['ü.example', '*.É.example', "it's"])
      })

      it('are listed by ascending id after a cursor, of one organization only', async () => {
        await store.transaction(async (writer) => {
          for (const id of ['pol_c', 'pol_a', 'pol_d', 'pol_b'])
            await writer.policies.insert(policy(id))
          await writer.policies.insert(policy('pol_b2', { org: 'rival' }))
        })

        const page = (afterId: string) =>
          store.read((reader) => reader.policies.list('acme', { afterId, limit: 2 }))

        expect((await page('')).map(({ id }) => id)).toEqual(['pol_a', 'pol_b'])
        expect((await page('pol_b')).map(({ id }) => id)).toEqual(['pol_c', 'pol_d'])
        expect(await page('pol_d')).toEqual([])
      })

      it('come with their rules in one list', async () => {
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_2'))
          await writer.policies.insert(policy('pol_1'))
          const at = { org: 'acme', policyId: 'pol_2', updated_at: NOW }
          await writer.policies.insertRule(at, RULE)
        })

        const all = await store.read((reader) => reader.policies.listWithRules('acme'))

        expect(all.map(({ id, rules }) => [id, rules])).toEqual([
          ['pol_1', []],
          ['pol_2', [RULE]],
        ])
      })

      it('of another organization cannot be found or changed', async () => {
        await store.transaction((writer) => writer.policies.insert(policy('pol_1')))
        const at = { org: 'rival', policyId: 'pol_1', updated_at: LATER }

        expect(await store.read((reader) => reader.policies.find('rival', 'pol_1'))).toBeNull()
        for (const work of [
          (writer: StoreWriter) => writer.policies.insertRule(at, RULE),
          (writer: StoreWriter) => writer.policies.replaceRules(at, [RULE]),
          (writer: StoreWriter) => writer.policies.delete('rival', 'pol_1'),
          (writer: StoreWriter) =>
            writer.policies.update({
              ...policy('pol_1'),
              mode: undefined,
              org: 'rival',
              updated_at: LATER,
            }),
        ])
          await expect(store.transaction<unknown>(work)).rejects.toMatchObject({
            code: 'ERR_STORE_NOT_FOUND',
          })
        const found = await store.read((reader) => reader.policies.find('acme', 'pol_1'))
        expect(found).toMatchObject({ updated_at: NOW, rules: [] })
      })

      it('may have rule names and ids of another policy, but no duplicates', async () => {
        await store.transaction(async (writer) => {
          for (const id of ['pol_1', 'pol_2']) {
            await writer.policies.insert(policy(id))
            await writer.policies.insertRule({ org: 'acme', policyId: id, updated_at: NOW }, RULE)
          }
        })
        const at = { org: 'acme', policyId: 'pol_1', updated_at: NOW }

        const again = store.transaction((writer) =>
          writer.policies.insertRule(at, { ...RULE, id: 'rule_2' }),
        )

        await expect(again).rejects.toMatchObject({ subject: 'rule_name' })
        const sameId = store.transaction((writer) =>
          writer.policies.insertRule(at, { ...RULE, name: 'another' }),
        )
        await expect(sameId).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT', subject: 'other' })
      })

      it('may name a rule like the id of another, and reuse a name after a roll-back', async () => {
        const at = { org: 'acme', policyId: 'pol_1', updated_at: NOW }
        const [first, second, third] = [
          { ...RULE, id: 'rule_1', name: 'rule_2' },
          { ...RULE, id: 'rule_2', name: 'rule_1' },
          { ...RULE, id: 'rule_3', name: 'again' },
        ]
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1'))
          await writer.policies.insertRule(at, first)
        })
        const undone = store.transaction(async (writer) => {
          await writer.policies.insertRule(at, third)
          throw new RangeError('undone')
        })
        await expect(undone).rejects.toThrow(RangeError)

        for (const rule of [second, third])
          await store.transaction((writer) => writer.policies.insertRule(at, rule))

        const found = await store.read((reader) => reader.policies.find('acme', 'pol_1'))
        expect(found?.rules).toEqual([first, second, third])
        for (const rule of [first, second, third]) {
          const again = store.transaction((writer) => writer.policies.insertRule(at, rule))
          await expect(again).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })
        }
      })

      it('have exactly the replacing rules, in order, for any number', async () => {
        const at = { org: 'acme', policyId: 'pol_1', updated_at: LATER }
        const rules = Array.from({ length: 123 }, (_, index) => ({
          ...RULE,
          id: `rule_${index}`,
          name: `rule ${index}`,
        }))
        const reordered = [RULE, ...rules.toReversed().slice(60)].map((rule, index) => ({
          ...rule,
          id: `${rule.id}${index === 0 ? 'first' : ''}`,
        }))
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1'))
          await writer.policies.replaceRules(at, rules)
        })
        const find = async () =>
          (await store.read((reader) => reader.policies.find('acme', 'pol_1')))?.rules
        expect(await find()).toEqual(rules)

        const answer = await store.transaction((writer) =>
          writer.policies.replaceRules(at, reordered),
        )
        expect(answer).toMatchObject({ updated_at: LATER, rules: reordered })
        expect(await find()).toEqual(reordered)

        await store.transaction((writer) => writer.policies.replaceRules(at, []))
        expect(await find()).toEqual([])
      })

      it('keep their rules when the replacing ones have a duplicate name', async () => {
        const at = { org: 'acme', policyId: 'pol_1', updated_at: NOW }
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1'))
          await writer.policies.insertRule(at, RULE)
        })

        const attempt = store.transaction((writer) =>
          writer.policies.replaceRules(at, [RULE, { ...RULE, id: 'rule_2' }]),
        )

        await expect(attempt).rejects.toMatchObject({ subject: 'rule_name' })
        const found = await store.read((reader) => reader.policies.find('acme', 'pol_1'))
        expect(found?.rules).toEqual([RULE])
      })

      it('cannot name a team of another organization', async () => {
        const attempt = store.transaction((writer) =>
          writer.policies.insert(policy('pol_1', { org: 'rival', teams: [TEAM] })),
        )

        await expect(attempt).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })
      })

      it('are deleted with their rules', async () => {
        const at = { org: 'acme', policyId: 'pol_1', updated_at: NOW }
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_1', { teams: [TEAM] }))
          await writer.policies.insertRule(at, RULE)
          await writer.policies.delete('acme', 'pol_1')
          await writer.policies.insert(policy('pol_1'))
        })

        const found = await store.read((reader) => reader.policies.find('acme', 'pol_1'))
        expect(found).toMatchObject({ rules: [], teams: [] })
      })
    })

    describe('the revision of an organization', () => {
      const at = { org: 'acme', policyId: 'pol_0', updated_at: LATER }
      const update = (changed: Partial<PolicyHeadRecord>): PolicyUpdate => ({
        mode: undefined,
        ...policy('pol_0', changed),
      })
      const changes: [string, (writer: StoreWriter) => Promise<unknown>][] = [
        ['a new policy', (writer) => writer.policies.insert(policy('pol_1'))],
        ['another name', (writer) => writer.policies.update(update({ name: 'new' }))],
        ['another scope', (writer) => writer.policies.update(update({ teams: [] }))],
        ['another mode', (writer) => writer.policies.update(update({ mode: 'shadow' }))],
        ['a default', (writer) => writer.organizations.updateDefault('acme', 'observe')],
        ['a text', (writer) => writer.organizations.updateSupportMessage('acme', 'Ask us')],
        ['a default of a team', (writer) => writer.teams.updateDefault('acme', TEAM, 'observe')],
        ['a deleted policy', (writer) => writer.policies.delete('acme', 'pol_0')],
        ['a new rule', (writer) => writer.policies.insertRule(at, RULE)],
        [
          'a changed rule',
          (writer) => writer.policies.updateRule(at, { ...RULE, id: 'rule_0', name: 'renamed' }),
        ],
        ['a deleted rule', (writer) => writer.policies.deleteRule(at, 'rule_0')],
        ['other rules', (writer) => writer.policies.replaceRules(at, [RULE])],
        ['a new team', (writer) => writer.teams.insert({ id: 'x', org: 'acme', name: 'new' })],
        ['a deleted team', (writer) => writer.teams.delete('acme', OTHER_TEAM)],
        ['a new member of a team', (writer) => writer.teams.addMember('acme', TEAM, 'ann')],
        ['a removed member of a team', (writer) => writer.teams.removeMember('acme', TEAM, 'bob')],
        [
          'a new member',
          (writer) => writer.memberships.insert({ org: 'acme', username: 'cid', role: 'member' }),
        ],
        ['another role', (writer) => writer.memberships.updateRole('acme', 'bob', 'auditor')],
        ['a member who left', (writer) => writer.memberships.delete('acme', 'bob')],
        [
          'a setting',
          (writer) => writer.organizations.updateSettings('acme', { resolve_unlisted_names: true }),
        ],
      ]

      beforeEach(async () => {
        await store.transaction(async (writer) => {
          await writer.policies.insert(policy('pol_0', { teams: [TEAM] }))
          await writer.policies.insertRule(at, { ...RULE, id: 'rule_0', name: 'zero' })
        })
      })

      it.each(changes)('grows with %s, without that of others', async (_name, change) => {
        const before = await revision()
        const rival = await revision('rival')

        await store.transaction(change)

        expect(await revision()).toBe(before + 1)
        expect(await revision('rival')).toBe(rival)
      })

      it('is stored in the changed policy', async () => {
        const changed = await store.transaction((writer) => writer.policies.insertRule(at, RULE))

        expect(changed.revision).toBe(await revision())
      })

      it('does not grow without a change', async () => {
        const before = await revision()

        await store.transaction(async (writer) => {
          await writer.teams.addMember('acme', TEAM, 'bob')
          expect(await writer.teams.removeMember('acme', TEAM, 'ann')).toBe(false)
        })

        expect(await revision()).toBe(before)
      })
    })

    describePeople(() => store)

    it('keeps a team while a policy names it', async () => {
      await store.transaction((writer) =>
        writer.policies.insert(policy('pol_1', { teams: [TEAM] })),
      )

      const attempt = store.transaction((writer) => writer.teams.delete('acme', TEAM))

      await expect(attempt).rejects.toMatchObject({ subject: 'team_in_use' })
      const using = await store.read((reader) => reader.policies.listUsingTeam('acme', TEAM))
      expect(using.map(({ id }) => id)).toEqual(['pol_1'])
    })

    describeConcurrency(
      () => store,
      () => open,
    )
    describeCredentials(() => store)
    describeDeviceSearch(() => store)
    describeAccessRequests(() => store)
    describeGrants(() => store)
    describePages(() => store)
    describeEvents(() => store)
    describeGeneration(
      () => store,
      () => open,
    )
    describeMemory(
      () => store,
      () => open,
    )
    describeIdempotency(() => store)
    describeRevocations(() => store)
    describeKnownNetworks(() => store)
    describeDocuments(() => store)
    describeRollouts(() => store)
    describeRuleLife(() => store, TEAM)
    describeWebhooks(() => store)

    it('has all its data after it was closed and opened again', async () => {
      const key = signingKey('k')
      await store.transaction(async (writer) => {
        await writer.policies.insert(policy('pol_1', { teams: [TEAM] }))
        await writer.policies.insertRule({ org: 'acme', policyId: 'pol_1', updated_at: NOW }, RULE)
        await writer.signingKeys.insert(key)
        await writer.secrets.insert('s', new Uint8Array([0, 1, 255]))
      })
      const before = await store.read((reader) => reader.policies.listWithRules('acme'))
      await store.close()

      const reopened = await open()
      onTestFinished(() => reopened.close())

      await reopened.read(async (reader) => {
        expect(await reader.policies.listWithRules('acme')).toEqual(before)
        expect(await reader.signingKeys.list('access_token')).toEqual([key])
        expect([...((await reader.secrets.find('s')) ?? [])]).toEqual([0, 1, 255])
        expect(await reader.organizations.count()).toBe(2)
        expect(await reader.organizations.names()).toEqual(['acme', 'rival'])
        const found = [
          await reader.organizations.find('acme'),
          await reader.organizations.find('rival'),
        ].map((each): [string, number] => [each?.name ?? '', each?.revision ?? -1])
        expect(new Set(found.map(([, revision]) => revision)).size).toBe(2)
        expect(await reader.organizations.revisions()).toEqual(new Map(found))
      })
    })
  })
}

/** Members ann (owner) and bob of `acme`; cid is in `rival` only. */
async function seed(writer: StoreWriter): Promise<void> {
  for (const name of ['acme', 'rival'])
    await writer.organizations.insert({
      name,
      entitled: true,
      resolve_unlisted_names: false,
      created_at: NOW,
    })
  for (const username of ['ann', 'bob', 'cid'])
    await writer.users.insert({ username, password_hash: null, created_at: NOW })
  await writer.memberships.insert({ org: 'acme', username: 'ann', role: 'owner' })
  await writer.memberships.insert({ org: 'acme', username: 'bob', role: 'member' })
  await writer.memberships.insert({ org: 'rival', username: 'cid', role: 'owner' })
  await writer.teams.insert({ id: TEAM, org: 'acme', name: 'one' })
  await writer.teams.insert({ id: OTHER_TEAM, org: 'acme', name: 'two' })
  await writer.teams.addMember('acme', TEAM, 'bob')
}
