import { MAX_PATH_COST, pathCost, pathLoad } from '@palisade/policy-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createId } from '../../../../server/src/governance/object-id.ts'
import type { RuleRecord } from '../../../../server/src/store/records.ts'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'
import { post } from '../document/documents.ts'
import { createPolicy, POLICIES, RULE } from '../policies.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
beforeEach(() => governed.clearPolicies())
afterAll(() => governed.close())

/** Patterns without common classes, which together cost a quarter of the limit. */
function costly(name: string): string[] {
  const all = Array.from({ length: 4 }, (_, at) => `/*${name}*1*2*3*4*5*6*7*8*9*${at}*`)
  const patterns = all.flatMap((text) => [text, `${text}/x`])
  expect(costOf(patterns)).toBeGreaterThan(MAX_PATH_COST / 5)
  expect(costOf(patterns)).toBeLessThan(MAX_PATH_COST / 2)
  return patterns
}

function costOf(resources: readonly string[]): number {
  return pathCost(pathLoad([{ actions: ['read'], resources }]))
}

function addRule(policyId: string, name: string, resources: readonly string[]) {
  const payload = { ...RULE, name, actions: ['read'], resources }
  return governed.send({ method: 'POST', url: `${POLICIES}/${policyId}/rules`, payload })
}

function changeRule(policyId: string, ruleId: string, payload: object) {
  const url = `${POLICIES}/${policyId}/rules/${ruleId}`
  return governed.send({ method: 'PATCH', url, payload })
}

/** Stores a rule without checks, as an older server may have. */
async function storeRule(policyId: string, resources: readonly string[], name = 'old') {
  const rule: RuleRecord = {
    id: createId('rule', new Date(0), (bytes) => new Uint8Array(bytes).fill(name.length)),
    name,
    actions: ['read'],
    decision: 'allow',
    resources,
  }
  const place = { org: 'acme', policyId, updated_at: '2026-01-01T00:00:00Z' }
  await governed.store.transaction((writer) => writer.policies.insertRule(place, rule))
  return rule.id
}

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

function policiesOf(names: readonly string[]) {
  return names.map((name) => ({
    name,
    rules: [{ ...RULE, name: 'paths', actions: ['read'], resources: costly(name) }],
  }))
}

describe('the path patterns of an organization', () => {
  it('are refused when all policies together cost too much, naming a pattern', async () => {
    const statuses: number[] = []
    let error = { message: '', field: '', reason: '' }
    for (const name of NAMES) {
      const { id } = await createPolicy(governed, name)
      const answer = await addRule(id, 'paths', costly(name))
      statuses.push(answer.statusCode)
      if (answer.statusCode === 400) ({ error } = answer.json())
    }

    expect(statuses.slice(0, 2)).toEqual([201, 201])
    expect(statuses.at(-1)).toBe(400)
    expect(error.reason).toBe('path_cost')
    expect(error.field).toMatch(/^resources\[\d\]$/)
    expect(error.message).toMatch(/^`\/\*\w\*1.+ 1250000 is the limit; write fewer/)
  })

  it('are accepted up to the cost that `compilePolicy` accepts', async () => {
    const rules = []
    for (const name of NAMES) {
      const { id } = await createPolicy(governed, name)
      const answer = await addRule(id, 'paths', costly(name))
      rules.push({ actions: ['read' as const], resources: costly(name) })
      expect(answer.statusCode === 201).toBe(pathCost(pathLoad(rules)) <= MAX_PATH_COST)
      if (answer.statusCode !== 201) rules.pop()
    }
  })

  it('count once for a common class, whichever teams they apply to', async () => {
    for (const name of NAMES) {
      const { id } = await createPolicy(governed, name)
      const globs = Array.from({ length: 500 }, (_, at) => `/**/*word-${at + 1_000}*/**`)
      expect((await addRule(id, 'paths', globs)).statusCode).toBe(201)
    }
  })

  it('are checked when a rule changes, and no longer count after its deletion', async () => {
    const ids = []
    for (const name of NAMES) {
      const { id } = await createPolicy(governed, name)
      const rule = await addRule(id, 'paths', ['/etc/passwd'])
      ids.push([id, rule.json().id] as const)
    }
    const change = async ([policyId, ruleId]: readonly [string, string], name: string) =>
      (await changeRule(policyId, ruleId, { resources: costly(name) })).statusCode
    const statuses = []
    for (const [index, name] of NAMES.entries()) statuses.push(await change(ids[index]!, name))
    const refused = statuses.indexOf(400)

    expect(refused).toBeGreaterThan(1)
    const url = `${POLICIES}/${ids[0]![0]}/rules/${ids[0]![1]}`
    expect((await governed.send({ method: 'DELETE', url })).statusCode).toBe(200)
    expect(await change(ids[refused]!, NAMES[refused]!)).toBe(200)
  })

  it('are checked in a document, in a dry run, and together with other policies', async () => {
    const dryRun = await post(governed, { policies: policiesOf(NAMES), dry_run: true })
    const refused = await post(governed, { policies: policiesOf(NAMES) })
    const taken = await post(governed, { policies: policiesOf(['a', 'b']) })
    const more = await post(governed, { policies: policiesOf(['c', 'd', 'e', 'f']) })
    const instead = await post(governed, { policies: policiesOf(['c', 'd']), prune: true })

    expect([dryRun.statusCode, refused.statusCode, more.statusCode]).toEqual([400, 400, 400])
    expect(refused.json().error.reason).toBe('path_cost')
    expect([taken.statusCode, instead.statusCode]).toEqual([200, 200])
  })

  it('may change at the same cost beyond the limit, if an older server accepted them', async () => {
    const { id } = await createPolicy(governed, 'old')
    const resources = NAMES.flatMap(costly)
    const ruleId = await storeRule(id, resources)
    const change = async (payload: object) => (await changeRule(id, ruleId, payload)).statusCode

    expect(await change({ name: 'renamed' })).toBe(200)
    expect(await change({ resources: [...resources, ...costly('new')] })).toBe(400)
    expect(await change({ resources: resources.slice(8) })).toBe(200)
    expect((await addRule(id, 'plain', ['/etc/passwd'])).statusCode).toBe(201)
    expect((await addRule(id, 'more', costly('more'))).statusCode).toBe(400)
    expect(await change({ resources: costly('a') })).toBe(200)
    expect((await addRule(id, 'more', costly('more'))).statusCode).toBe(201)
  })

  it('are counted after a concurrent write by another server', async () => {
    const { id } = await createPolicy(governed, 'mine')
    const other = await createPolicy(governed, 'theirs')
    expect((await addRule(id, 'first', costly('a'))).statusCode).toBe(201)
    await storeRule(other.id, NAMES.slice(1, 6).flatMap(costly))

    expect((await addRule(id, 'second', costly('z'))).statusCode).toBe(400)
  })

  it('may be many thousands of ordinary patterns', async () => {
    const kinds = [
      (at: number) => `/home/*/project-${at}/**`,
      (at: number) => `/**/.env-${at}`,
      (at: number) => `/**/node_modules/name-${at}/**`,
      (at: number) => `/**/packages/*/name-${at}/**/*.pem`,
      (at: number) => `/srv/file-${at}`,
    ]
    const { id } = await createPolicy(governed, 'ordinary')
    for (const [kind, pattern] of kinds.entries()) {
      const answer = await addRule(
        id,
        `kind ${kind}`,
        Array.from({ length: 2_000 }, (_, at) => pattern(at)),
      )
      expect(answer.statusCode, answer.body).toBe(201)
    }
  })
})

describe('a pattern beyond the limits of one pattern, from an older server', () => {
  const beyond = '/**/a'.repeat(33)

  it('does not prevent writes of other rules of its policy', async () => {
    const { id } = await createPolicy(governed, 'old')
    const ruleId = await storeRule(id, [beyond, '/tmp'])
    const added = await addRule(id, 'new', ['/etc/**'])

    expect(added.statusCode).toBe(201)
    expect((await changeRule(id, added.json().id, { resources: ['/var/**'] })).statusCode).toBe(200)
    expect((await changeRule(id, ruleId, { name: 'renamed' })).statusCode).toBe(200)
    expect((await changeRule(id, ruleId, { resources: [beyond] })).statusCode).toBe(200)
    expect((await changeRule(id, ruleId, { resources: [`${beyond}/b`] })).statusCode).toBe(400)
    expect((await addRule(id, 'another', [beyond])).statusCode).toBe(400)
  })

  it('may stay in a document, and is refused as a new pattern', async () => {
    const { id, name } = await createPolicy(governed, 'old')
    await storeRule(id, [beyond])
    const rule = (given: string, resources: readonly string[]) => ({
      ...RULE,
      name: given,
      actions: ['read'],
      resources,
    })
    const stays = { name, rules: [rule('old', [beyond]), rule('new', ['/etc/**'])] }
    const grows = { name, rules: [rule('old', [beyond]), rule('another', [beyond])] }

    expect((await post(governed, { policies: [stays] })).statusCode).toBe(200)
    const refused = await post(governed, { policies: [grows] })
    expect(refused.statusCode).toBe(400)
    expect(refused.json().error.field).toMatch(/rules\[1\]\.resources\[0\]$/)
  })
})
