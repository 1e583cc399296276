import { createId } from '../../../server/src/governance/object-id.ts'
import type { RuleRecord } from '../../../server/src/store/records.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { post } from './document/documents.ts'
import { createPolicy, POLICIES, RULE } from './policies.ts'

let governed: GovernedApp

beforeEach(async () => {
  governed = await openGovernedApp()
})
afterEach(() => governed.close())

/**
 * Patterns whose chunks all begin at once: about 200,000 steps, and the same again for each `name`.
 */
function costly(name: string): string[] {
  return Array.from({ length: 9 }, (_, at) => `/**/*${name}*/*/x${at}*/*/y/**/z`)
}

function addRule(policyId: string, name: string, resources: readonly string[]) {
  const payload = { ...RULE, name, actions: ['read'], resources }
  return governed.send({ method: 'POST', url: `${POLICIES}/${policyId}/rules`, payload })
}

const HOSTILE = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

describe('the path patterns of an organization', () => {
  it('are refused where all policies together cost too much, naming a pattern', async () => {
    const statuses: number[] = []
    let message = ''
    for (const name of HOSTILE) {
      const { id } = await createPolicy(governed, name)
      const answer = await addRule(id, 'paths', costly(name))
      statuses.push(answer.statusCode)
      if (answer.statusCode === 400) ({ message } = answer.json().error)
    }

    expect(statuses[0]).toBe(201)
    expect(statuses.at(-1)).toBe(400)
    expect(message).toMatch(/^`\/\*\*\/\*\w\*\/\*\/x0\*.+800000 is the limit/)
  })

  it('are counted once where policies have the same, whatever their teams', async () => {
    for (const name of HOSTILE) {
      const { id } = await createPolicy(governed, name)
      expect((await addRule(id, 'paths', costly('a'))).statusCode).toBe(201)
    }
  })

  it('are taken in a document up to the limit alone, also in a dry run', async () => {
    const policies = (names: readonly string[]) =>
      names.map((name) => ({
        name,
        rules: [{ ...RULE, name: 'paths', actions: ['read'], resources: costly(name) }],
      }))
    const dryRun = await post(governed, { policies: policies(HOSTILE), dry_run: true })
    const refused = await post(governed, { policies: policies(HOSTILE) })
    const taken = await post(governed, { policies: policies(['a']) })

    expect(dryRun.statusCode).toBe(400)
    expect(refused.statusCode).toBe(400)
    expect(refused.json().error.reason).toBe('path_cost')
    expect(taken.statusCode).toBe(200)
  })

  it('may be changed beyond the limit, as an older server took them, if they do not cost more', async () => {
    const { id } = await createPolicy(governed, 'old')
    const resources = HOSTILE.flatMap(costly)
    const rule: RuleRecord = {
      id: createId('rule', new Date(0), (bytes) => new Uint8Array(bytes)),
      name: 'paths',
      actions: ['read'],
      decision: 'allow',
      resources,
    }
    const place = { org: 'acme', policyId: id, updated_at: '2026-01-01T00:00:00Z' }
    await governed.store.transaction((writer) => writer.policies.insertRule(place, rule))
    const change = (payload: object) =>
      governed.send({ method: 'PATCH', url: `${POLICIES}/${id}/rules/${rule.id}`, payload })

    expect((await change({ name: 'renamed' })).statusCode).toBe(200)
    expect((await change({ resources: [...resources, ...costly('new')] })).statusCode).toBe(400)
    expect((await change({ resources: resources.slice(9) })).statusCode).toBe(200)
    expect((await addRule(id, 'plain', ['/etc/passwd'])).statusCode).toBe(201)
    expect((await addRule(id, 'more', costly('more'))).statusCode).toBe(400)
  })

  it('may be many thousands of an ordinary kind', async () => {
    const { id } = await createPolicy(governed, 'ordinary')
    const kinds = [
      (at: number) => `/home/*/project-${at}/**`,
      (at: number) => `/**/.env-${at}`,
      (at: number) => `/**/node_modules/name-${at}/**`,
      (at: number) => `/**/packages/*/name-${at}/**/*.pem`,
    ]
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
