import { checkRule } from '@palisade/policy-core'
import { fc, test } from '@fast-check/vitest'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  checkResources,
  findProblemsInTurns,
  keepFindings,
} from '../../../server/src/governance/checked-resources.ts'
import { createKnownRules } from '../../../server/src/governance/known-rules.ts'
import { requireCompilableWith } from '../../../server/src/governance/compilation/require-compilable.ts'
import { createWorkBudget, type WorkBudget } from '../../../server/src/work/work-budget.ts'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, POLICIES, RULE } from './policies.ts'

const LITTLE = {
  organization: { burstMs: 10_000, perSecondMs: 1 },
  caller: { burstMs: 500, perSecondMs: 1 },
  reservedMs: 0,
}
const HOSTS = Array.from({ length: 1200 }, (_, index) => `n${index}.example.com:443`)
const REFUSED = [...HOSTS, 'not a host']

async function open(budget?: WorkBudget): Promise<{ governed: GovernedApp; rules: string }> {
  const governed = await openGovernedApp({ ...(budget && { budget }) })
  onTestFinished(() => governed.close())
  const { id } = await createPolicy(governed, 'web')
  return { governed, rules: `${POLICIES}/${id}/rules` }
}

describe('a rule with many resources', () => {
  it('is refused without an effect, naming the position of the invalid one', async () => {
    const { governed, rules } = await open()
    const { id } = await createRule(governed, rules.split('/').at(-2) ?? '')

    for (const response of [
      await governed.send({
        method: 'POST',
        url: rules,
        payload: { ...RULE, name: 'large', resources: REFUSED },
      }),
      await governed.send({
        method: 'PATCH',
        url: `${rules}/${id}`,
        payload: { resources: REFUSED },
      }),
    ]) {
      expect(response.statusCode).toBe(400)
      expect(response.json().error).toMatchObject({ field: 'resources[1200]' })
    }
    const kept = (await governed.send({ url: rules.replace('/rules', '') })).json()
    expect(kept.allowlist_v0.rules).toMatchObject([{ id, resources: RULE.resources }])
  })

  it('is written when all of them are valid, and only into a policy of its domain', async () => {
    const { governed, rules } = await open()

    const write = (rule: object) =>
      governed.send({ method: 'POST', url: rules, payload: { ...RULE, ...rule } })
    const paths = HOSTS.map((_, index) => `/srv/app-${index}/*`)
    const created = await write({ resources: HOSTS })
    const other = await write({ name: 'paths', actions: ['read'], resources: paths })
    const changed = await governed.send({
      method: 'PATCH',
      url: `${rules}/${created.json().id}`,
      payload: { resources: HOSTS.slice(1) },
    })

    expect([created.statusCode, other.statusCode, changed.statusCode]).toEqual([201, 400, 200])
    expect(other.json().error).toMatchObject({ field: 'actions' })
    expect(changed.json().new.resources).toEqual(HOSTS.slice(1))
  })

  it('is charged to its caller, who with an empty budget may write only small rules', async () => {
    const charged: string[] = []
    const real = createWorkBudget({ limits: LITTLE })
    const budget: WorkBudget = {
      ...real,
      begin(payer) {
        const work = real.begin(payer)
        return {
          ...work,
          async turn() {
            charged.push(payer.caller)
            await work.turn()
          },
        }
      },
    }
    const { governed, rules } = await open(budget)
    const send = (resources: readonly string[]) =>
      governed.send({ as: 'ed', method: 'POST', url: rules, payload: { ...RULE, resources } })

    const refused = await send(REFUSED)
    real.begin({ org: 'acme', caller: 'user:ed', isWriter: true }).charge(2000)
    const poor = await send(REFUSED)

    expect([refused.statusCode, poor.statusCode]).toEqual([400, 429])
    expect(Number(poor.headers['retry-after'])).toBeGreaterThan(1000)
    expect(new Set(charged)).toEqual(new Set(['user:ed']))
    expect(charged.length).toBeGreaterThan(2)
    expect((await send(['example.com'])).statusCode).toBe(201)
  })

  it('is not 429 before the checks of organization and permission', async () => {
    const { governed, rules } = await open(createWorkBudget({ limits: LITTLE }))
    const payload = { ...RULE, resources: REFUSED }

    const statuses: number[] = []
    for (const as of ['rita', 'audrey', 'mia'])
      statuses.push((await governed.send({ as, method: 'POST', url: rules, payload })).statusCode)
    const absent = rules.replace(/pol_\w+/, 'pol_absent')
    statuses.push((await governed.send({ method: 'POST', url: absent, payload })).statusCode)

    expect(statuses).toEqual([404, 403, 403, 404])
  })
})

describe('a large body', () => {
  it.each([
    ['numbers', Array.from({ length: 9000 }, (_, index) => index), 'resources[0]'],
    ['a text that is too long', ['a.example', 'x'.repeat(4097), ...HOSTS], 'resources[1]'],
    ['an object after good ones', [...HOSTS, {}], 'resources[1200]'],
  ])(
    'with %s is refused like a small one with the same fault',
    async (_title, resources, field) => {
      const { governed, rules } = await open()
      const send = (payload: object) => governed.send({ method: 'POST', url: rules, payload })

      const refused = await send({ ...RULE, resources })
      const mixed = await send({ ...RULE, actions: ['connect:tcp', 'read'], resources })
      const unnamed = await send({ ...RULE, name: 7, resources })

      expect(refused.statusCode).toBe(400)
      expect(refused.json().error.field).toBe(field)
      expect(mixed.json().error.reason).toBe('domain_mismatch')
      expect(unnamed.json().error.field).toBe('name')
    },
  )

  it('of nested brackets is refused', async () => {
    const { governed, rules } = await open()

    const refused = await governed.send({
      method: 'POST',
      url: rules,
      headers: { 'content-type': 'application/json' },
      payload: '['.repeat(1_000_000),
    })

    expect([refused.statusCode, refused.json().error.code]).toEqual([400, 'invalid_argument'])
  })
})

describe('resources that are checked in turns', () => {
  const text = fc.oneof(
    { weight: 8, arbitrary: fc.nat({ max: 999 }).map((n) => `n${n}.example.com`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('a b', '', '*.*', '10.0.0.1/8', 'b\u00FCcher.example'),
    },
  )

  test.prop([fc.array(text, { minLength: 1, maxLength: 40, size: 'max' })], { numRuns: 100 })(
    'have the problems that they have at once',
    async (resources) => {
      const checked = await checkResources(
        { actions: ['connect:tcp'], resources },
        { turn: async () => undefined },
      )

      const rule = { actions: ['connect:tcp'], decision: 'allow', resources } as const
      expect(checked?.problems.all).toEqual(checkRule(rule))
      expect(checked?.problems.compiles).toBe(
        checkRule(rule, { patternLimits: false }).length === 0,
      )
    },
  )

  it.each([
    ['none', []],
    ['a bad one', ['a b']],
  ])('have the same problems as when checked at once: %s', async (_title, resources) => {
    const rule = { id: 'r', ...RULE, resources }

    const problems = await findProblemsInTurns(rule, { turn: async () => undefined })

    expect(problems.all).toEqual(checkRule(rule))
  })

  it('end their turn after a few names that take long to parse', async () => {
    // IDNA encodes distinct letters of other scripts in quadratic time.
    const letters = Array.from({ length: 900 }, (_, index) => String.fromCodePoint(0x4e00 + index))
    let turns = 0
    const turn = async (): Promise<void> => void (turns += 1)

    await checkResources({ ...RULE, resources: Array(100).fill(letters.join('')) }, { turn })

    expect(turns).toBeGreaterThanOrEqual(50)
  })

  it('are not checked again with their rule', async () => {
    const known = createKnownRules()
    const rule = { id: 'r', ...RULE, resources: HOSTS }
    const work = { turn: async () => undefined }
    const checked = await checkResources(rule, work)
    if (checked === null) throw new Error('they were not checked')
    const problems = { all: [{ member: 'resources[7]', message: 'kept' }], compiles: false }
    const policy = { id: 'p', org: 'acme', name: 'p', teams: [], revision: 1 } as const
    const stored = { ...policy, created_at: '', updated_at: '', rules: [] }

    keepFindings(known, rule, { ...checked, problems })

    expect(() => requireCompilableWith(known, stored, rule)).toThrow('kept')
    const copy = { ...rule, resources: [...HOSTS] }
    keepFindings(known, copy, { ...checked, problems })
    expect(() => requireCompilableWith(known, stored, copy)).not.toThrow()
  })
})
