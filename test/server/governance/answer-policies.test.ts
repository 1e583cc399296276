import { effectivePolicyResponseSchema, exportResponseSchema } from '@palisade/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerPolicies } from '../../../server/src/governance/answer-policies.ts'
import { createAnswerTurns } from '../../../server/src/work/answer-turns.ts'
import { formatPolicy } from '../../../server/src/store/aggregates/policies/format-policy.ts'
import { listHeads } from '../../../server/src/store/list-heads.ts'
import { createAnswersBeingSent } from '../../../server/src/http/body/answers-being-sent.ts'
import { createAnswersInFlight } from '../../../server/src/governance/answers-in-flight.ts'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'
import { createWorkBudget } from '../../../server/src/work/work-budget.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { openGovernedApp, START, type GovernedApp } from '../http/governed-app.ts'

const EFFECTIVE = '/api/v1/orgs/acme/effective-policy'
const EXPORT = '/api/v1/orgs/acme/export'
const POLICIES = 24
/** Rules of 4 kB each, so that a policy comes near to its limit of 400 KB. */
const RULES = 90
const at = { org: 'acme', created_at: START.toISOString(), updated_at: START.toISOString() }
const idOf = (number: number) => `pol_${String(number).padStart(28, '0')}`

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
  await governed.store.transaction(async ({ policies }) => {
    for (let number = 0; number < POLICIES; number += 1) {
      const id = idOf(number)
      await policies.insert({ ...at, id, name: `policy ${number}`, teams: [] })
      await policies.replaceRules({ ...at, policyId: id }, rulesOf(id, 0))
    }
  })
})
afterAll(() => governed.close())

function rulesOf(id: string, count: number) {
  return Array.from({ length: RULES }, (_, index) => ({
    id: `rule_${id.slice(4, 24)}${String(index).padStart(8, '0')}`,
    name: `${index}`,
    actions: ['connect:tcp' as const],
    decision: 'allow' as const,
    resources: Array.from({ length: 80 }, (_one, host) => {
      return `h${count}.${host}.${'a-rather-long-name'.repeat(2)}.example`
    }),
  }))
}

/** Changes the first and the last policy together: a consistent answer shows them alike. */
async function change(count: number): Promise<void> {
  await governed.store.transaction(async ({ policies }) => {
    for (const id of [idOf(0), idOf(POLICIES - 1)])
      await policies.replaceRules({ ...at, policyId: id }, rulesOf(id, count).slice(0, 1))
  })
}

describe.each([
  ['effective-policy', EFFECTIVE, effectivePolicyResponseSchema],
  ['export', EXPORT, exportResponseSchema],
])('a large %s', (_name, url, schema) => {
  it('does not block other requests while it is made, even for many callers', async () => {
    let healthy = 0
    const progress = { isMade: false }
    const large = Promise.all(Array.from({ length: 10 }, () => governed.send({ url })))
    const first = large.then((answers) => {
      progress.isMade = true
      return answers
    })
    while (!progress.isMade) {
      expect((await governed.app.inject('/healthz')).statusCode).toBe(200)
      healthy += 1
      await nextTurn()
    }

    const answers = await first
    const [text] = answers.map(({ body }) => body)
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(200))
    for (const { body } of answers) expect(body === text).toBe(true)
    expect(schema.parse(JSON.parse(text ?? '')).policies).toHaveLength(POLICIES)
    // An answer made in one turn would let other requests run only before and after it.
    expect(healthy).toBeGreaterThan(POLICIES / 2)
  })

  it('is made again after a change, and refused after a loss of the permission', async () => {
    const before = await governed.send({ url })
    await change(1_000_000)

    const after = await governed.send({ url })

    expect(after.json().revision).toBeGreaterThan(before.json().revision)
    expect(after.body).toContain('h1000000.0.')
    expect((await governed.send({ url, as: 'mia' })).statusCode).toBe(403)
    expect((await governed.send({ url, as: 'rita' })).statusCode).toBe(404)
    await change(0)
  })
})

describe('an answer of many policies', () => {
  it.each([
    [1, 'once'],
    [2, 'twice'],
    [Infinity, 'without a pause'],
  ])('shows one revision, even with concurrent writes: %s time(s)', async (times) => {
    let count = 0
    let reads = 0
    const store: Pick<Store, 'read'> = {
      async read(work) {
        const result = await governed.store.read(work)
        reads += 1
        // In the middle of each attempt: a change at its end would not mix two revisions.
        if (reads % 10 === 5 && count < times) await change((count += 1))
        return result
      },
    }
    const deps = {
      store,
      budget: createWorkBudget(),
      turns: createAnswerTurns(),
      inFlight: createAnswersInFlight(),
      beingSent: createAnswersBeingSent(),
    }

    const { status, body } = await answerPolicies(deps, 'acme', async (reader) => ({
      payer: { org: 'acme', caller: 'user:olga', isWriter: true },
      revision: (await reader.organizations.find('acme'))?.revision ?? 0,
      heads: await listHeads(reader, 'acme'),
      format: formatPolicy,
      around: ['[', ']'],
    }))

    const policies = JSON.parse(String(body)) as object[]
    const shown = [0, POLICIES - 1].map(
      (index) => /h(\d+)\.0\./.exec(JSON.stringify(policies[index]))?.[1],
    )
    expect([status, policies.length]).toEqual([200, POLICIES])
    expect(shown).toEqual([String(count), String(count)])
    expect(count).toBeGreaterThanOrEqual(Math.min(times, 3))
  })
})
