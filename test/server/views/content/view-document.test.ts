import { compilePolicy, runSelfTest } from '@palisade/policy-core'
import { readSelfTest, viewPolicySchema, type ViewPolicy } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import {
  createDocumentFormat,
  type FormattedPolicy,
} from '../../../../server/src/views/content/view-document.ts'
import type { PolicyRecord, RuleRecord } from '../../../../server/src/store/records.ts'

const TEAM = '2f1c9a4e-7b1d-4f0e-9c55-0d6f3a8b7e21'

function record(...rules: readonly Partial<RuleRecord>[]): PolicyRecord {
  return {
    id: 'pol_1',
    org: 'acme',
    name: 'web',
    teams: [TEAM],
    created_at: '2026-11-01T00:00:00Z',
    updated_at: '2026-11-01T00:00:00Z',
    revision: 7,
    rules: rules.map((rule, index) => ({
      id: `rule_${index}`,
      name: `rule ${index}`,
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: ['*.example.com:443'],
      ...rule,
    })),
  }
}

function read({ document }: FormattedPolicy): ViewPolicy {
  return viewPolicySchema.parse(JSON.parse(Buffer.from(document.body).toString()))
}

describe('a document', () => {
  it('is the policy without its scope, with a self-test that the evaluator passes', () => {
    const { self_test, ...policy } = read(
      createDocumentFormat()(record({}, { decision: 'deny', resources: ['**.example.com'] })),
    )
    const vectors = readSelfTest(self_test) ?? []
    const compiled = compilePolicy({ policies: [policy] })

    expect(policy).toMatchObject({ id: 'pol_1', name: 'web', org: 'acme' })
    expect(policy).not.toHaveProperty('scope')
    expect(vectors.length).toBeGreaterThan(4)
    expect(vectors.map(({ match }) => match)).toContainEqual([0, 1])
    expect(runSelfTest({ compiled }, policy, vectors)).toBeNull()
    const half = { rules: policy.allowlist_v0?.rules.slice(0, 1) ?? [] }
    const other = compilePolicy({ policies: [{ ...policy, allowlist_v0: half }] })
    expect(runSelfTest({ compiled: other }, policy, vectors)).not.toBeNull()
  })

  it('has no self-test without requests to test', () => {
    expect(read(createDocumentFormat()(record()))).not.toHaveProperty('self_test')
  })

  it('is byte-identical for the same policy, regardless of earlier ones', () => {
    const [one, other] = [createDocumentFormat(), createDocumentFormat()]
    const policy = record({}, { resources: ['10.0.0.0/8'] })

    const first = one(policy)
    // Another policy with the same id, such as one whose transaction was rolled back.
    const changed = one(record({ resources: ['192.0.2.1'] }))

    expect(changed.document.sha256).not.toBe(first.document.sha256)
    expect(one(policy)).toEqual(first)
    expect(other(policy)).toEqual(first)
  })

  it('is at most a few kilobytes longer than a policy of any size', () => {
    const resources = Array.from({ length: 5000 }, (_, index) => `h${index}.example.com`)
    const rules = Array.from({ length: 250 }, (_, index) => ({
      resources: [`${'a.'.repeat(100)}h${index}.test`, '10.0.0.0/8', '**.test:443'],
    }))
    const formatted = createDocumentFormat()(record({ resources }, ...rules))
    const { self_test, ...policy } = read(formatted)

    expect(readSelfTest(self_test)).not.toBeNull()
    const added = formatted.document.body.byteLength - JSON.stringify(policy).length
    expect(added).toBeGreaterThan(500)
    expect(added).toBeLessThan(4500)
  })
})
