import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EventRecord, PolicyRecord } from '../../../server/src/store/records.ts'
import type { Store, StoreReader, StoreWriter } from '../../../server/src/store/store.ts'
import { casesOfRun } from '../../lanes/run-size.ts'
import type { OpenStore } from './open-again.ts'

const NOW = '2026-11-21T08:00:00Z'
const POLICIES = ['pol_1', 'pol_2'] as const
const NAMES = ['a', 'b', 'c'] as const

type Write =
  | { readonly kind: 'insert' | 'delete' | 'event' | 'setting' | 'default' | 'entitled' | 'role' }
  | {
      readonly kind: 'update'
      readonly name: string
      readonly teams: readonly number[]
      readonly mode: 'shadow' | undefined
    }
  | { readonly kind: 'insertRule' | 'updateRule' | 'deleteRule'; readonly rule: string }
  | { readonly kind: 'replaceRules'; readonly rules: readonly string[] }

/** The teams of each run have their own ids. */
const TEAM_OF_RUN = /-1111-4111-8111-\d{12}/g

/** The writes of one transaction, and whether it throws at the end. */
interface Step {
  readonly opening: number
  readonly isUndone: boolean
  /** Writes of one group start before any of them is awaited. */
  readonly groups: readonly (readonly (Write & { readonly policy: string })[])[]
}

function writes(): fc.Arbitrary<Write & { readonly policy: string }> {
  const rule = fc.constantFrom(...NAMES)
  const write: fc.Arbitrary<Write> = fc.oneof(
    fc.constantFrom<Write>({ kind: 'insert' }, { kind: 'delete' }, { kind: 'event' }),
    fc.constantFrom<Write>({ kind: 'setting' }, { kind: 'entitled' }, { kind: 'role' }),
    fc.constant<Write>({ kind: 'default' }),
    fc.record({
      kind: fc.constant('update' as const),
      name: fc.constantFrom(...NAMES),
      teams: fc.uniqueArray(fc.constantFrom(0, 1)),
      mode: fc.constantFrom('shadow' as const, undefined),
    }),
    fc.record({
      kind: fc.constantFrom('insertRule', 'insertRule', 'updateRule', 'deleteRule'),
      rule,
    }),
    fc.record({ kind: fc.constant('replaceRules' as const), rules: fc.uniqueArray(rule) }),
  )
  return fc
    .tuple(write, fc.constantFrom(...POLICIES))
    .map(([given, policy]) => ({ ...given, policy }))
}

function steps(): fc.Arbitrary<Step[]> {
  const group = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(writes()) },
    { weight: 1, arbitrary: fc.tuple(writes(), writes()) },
  )
  return fc.array(
    fc.record({
      opening: fc.constantFrom(0, 0, 0, 1),
      isUndone: fc.constantFrom(false, false, true),
      groups: fc.array(group, { maxLength: 3 }),
    }),
    { minLength: 2, maxLength: 8 },
  )
}

/** A writer reads its cache first; readers and lists have no cache. */
export function describeMemory(store: () => Store, open: () => OpenStore): void {
  let run = 0

  /** An organization of this run, with a member and the two policies. */
  async function prepare(): Promise<string> {
    run += 1
    const org = `run-${run}`
    await store().transaction(async (writer) => {
      const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
      await writer.organizations.insert({ name: org, ...settings })
      await writer.memberships.insert({ org, username: 'ann', role: 'owner' })
      for (const n of [0, 1]) await writer.teams.insert({ id: teamOf(n), org, name: `team ${n}` })
      for (const id of POLICIES) await apply(writer, org, { kind: 'insert', policy: id })
    })
    return org
  }

  const teamOf = (n: number): string =>
    `${String(n).padStart(8, '0')}-1111-4111-8111-${String(run).padStart(12, '0')}`

  async function apply(
    writer: StoreWriter,
    org: string,
    write: Write & { readonly policy: string },
  ): Promise<PolicyRecord | null> {
    const policyId = `${write.policy}.${org}`
    const at = { org, policyId, updated_at: NOW }
    const ruleOf = (name: string) => {
      const action = { actions: ['connect:udp' as const], decision: 'deny' as const }
      const expiry = name === 'a' ? { expires_at: '2026-12-31T18:00:00.000Z' } : {}
      return { id: `rule_${name}`, name, ...action, resources: ['a.example', name], ...expiry }
    }
    switch (write.kind) {
      case 'insert': {
        const head = { id: policyId, org, name: policyId, teams: [teamOf(1)], created_at: NOW }
        return writer.policies.insert({ ...head, updated_at: NOW })
      }
      case 'update': {
        const [name, teams] = [write.name, write.teams.map(teamOf)]
        const { mode } = write
        return writer.policies.update({ org, id: policyId, name, teams, mode, updated_at: NOW })
      }
      case 'delete':
        await writer.policies.delete(org, policyId)
        return null
      case 'insertRule':
        return writer.policies.insertRule(at, ruleOf(write.rule))
      case 'updateRule':
        return writer.policies.updateRule(at, { ...ruleOf(write.rule), resources: ['b.example'] })
      case 'deleteRule':
        return writer.policies.deleteRule(at, `rule_${write.rule}`)
      case 'replaceRules':
        return writer.policies.replaceRules(at, write.rules.map(ruleOf))
      case 'setting':
        await writer.organizations.updateSettings(org, { resolve_unlisted_names: true })
        return null
      case 'default':
        await writer.organizations.updateDefault(org, 'observe')
        return null
      case 'entitled':
        await writer.organizations.updateEntitled(org, false)
        return null
      case 'role':
        await writer.memberships.updateRole(org, 'ann', 'editor')
        return null
      case 'event': {
        const sequence = ((await writer.events.head(org))?.sequence ?? 0) + 1
        await writer.events.append(org, [{ ...EVENT, org, sequence, hash: `hash ${sequence}` }])
        return null
      }
    }
  }

  /** Through reads that a writer may answer from its cache. */
  async function remembered(reader: StoreReader, org: string) {
    const policies = await Promise.all(
      POLICIES.map((id) => reader.policies.find(org, `${id}.${org}`)),
    )
    return {
      policies: policies.filter((policy) => policy !== null),
      member: await reader.memberships.find(org, 'ann'),
      head: await reader.events.head(org),
    }
  }

  /** Through reads that always query the database. */
  async function listed(reader: StoreReader, org: string): ReturnType<typeof remembered> {
    const every = { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 1000 }
    const last = (await reader.events.list(org, every)).at(-1)
    return {
      policies: await reader.policies.listWithRules(org),
      member:
        (await reader.memberships.list(org)).find(({ username }) => username === 'ann') ?? null,
      head: last === undefined ? null : { sequence: last.sequence, hash: last.hash },
    }
  }

  describe('the cache of a writer', () => {
    it('never differs from the stored data, for any writers and roll-backs', async () => {
      const other = await open()()
      onTestFinished(() => other.close())
      const stop = new Error('stop')

      await fc.assert(
        fc.asyncProperty(steps(), async (given) => {
          const org = await prepare()
          for (const { opening, isUndone, groups } of given) {
            const work = async (writer: StoreWriter) => {
              for (const group of groups) {
                const answers = await allDone(group.map((write) => apply(writer, org, write)))
                const now = await listed(writer, org)
                expect(await remembered(writer, org)).toEqual(now)
                const last = answers.length === 1 ? answers : []
                const shown = last.filter((answer) => answer !== null)
                expect(now.policies).toEqual(expect.arrayContaining(shown))
              }
              if (isUndone) throw stop
            }
            // Duplicate names and missing rules roll a transaction back as well.
            await (opening === 0 ? store() : other).transaction(work).catch((error: unknown) => {
              if (error !== stop && !isRefusal(error)) throw error
            })
            for (const each of [store(), other]) {
              const stored = await store().read((reader) => reader.organizations.find(org))
              await each.transaction(async (writer) => {
                expect(await remembered(writer, org)).toEqual(await listed(writer, org))
                expect(await writer.organizations.find(org)).toEqual(stored)
              })
            }
          }
        }),
        { numRuns: casesOfRun(10) },
      )
    })

    it('has no effect: concurrent writes have the result of sequential ones', async () => {
      const stop = new Error('stop')
      const attempt = async (org: string, { isUndone, groups }: Step, sees: boolean) =>
        store()
          .transaction(async (writer) => {
            for (const group of groups) {
              await allDone(group.slice(0, 1).map((write) => apply(writer, org, write)))
              if (sees) await listed(writer, org)
            }
            if (isUndone) throw stop
          })
          .catch((error: unknown) => {
            if (error !== stop && !isRefusal(error)) throw error
          })
      const left = async (org: string) => {
        const found = await store().read(async (reader) => ({
          ...(await listed(reader, org)),
          organization: await reader.organizations.find(org),
        }))
        return JSON.stringify(found).replaceAll(org, 'org').replace(TEAM_OF_RUN, 'team')
      }

      await fc.assert(
        fc.asyncProperty(steps(), async (given) => {
          const one = await prepare()
          await Promise.all(given.map((step) => attempt(one, step, false)))
          const other = await prepare()
          for (const step of given) await attempt(other, step, true)

          expect(await left(one)).toBe(await left(other))
        }),
        { numRuns: casesOfRun(10) },
      )
    })
  })
}

const EVENT: Omit<EventRecord, 'org' | 'sequence' | 'hash'> = {
  at: '2026-11-21T08:00:00.000Z',
  kind: 'team.created',
  actor: 'operator',
  address: null,
  request_id: null,
  subject: { id: 't', name: 't' },
  before: null,
  after: { id: 't' },
  revision: 1,
  previous_hash: '',
}

/**
 * Like `Promise.all`, but after a failure nothing runs in the background, and the refusal is thrown
 * first: after it PostgreSQL refuses all statements of the transaction.
 */
async function allDone<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(work)
  for (const outcome of outcomes)
    if (outcome.status === 'rejected' && isRefusal(outcome.reason)) throw outcome.reason
  return Promise.all(work)
}

function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ERR_STORE_CONFLICT' || code === 'ERR_STORE_NOT_FOUND'
}
