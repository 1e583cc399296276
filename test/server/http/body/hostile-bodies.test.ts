import fc from 'fast-check'
import { errorEnvelopeSchema } from '@palisade/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPolicy, createRule, POLICIES } from '../../governance/policies.ts'
import { openGovernedApp, type GovernedApp } from '../governed-app.ts'

let governed: GovernedApp
let authorization: string
let targets: { method: 'POST' | 'PATCH'; url: string }[]

beforeAll(async () => {
  governed = await openGovernedApp({ limits: { maxPolicies: 20, maxRules: 20 } })
  authorization = `Bearer ${await governed.tokenFor('olga')}`
  const { id } = await createPolicy(governed, 'target')
  const rule = await createRule(governed, id)
  targets = [
    { method: 'POST', url: POLICIES },
    { method: 'PATCH', url: `${POLICIES}/${id}` },
    { method: 'POST', url: `${POLICIES}/${id}/rules` },
    { method: 'PATCH', url: `${POLICIES}/${id}/rules/${rule.id}` },
    { method: 'POST', url: '/api/v1/orgs/acme/check' },
  ]
})
afterAll(() => governed.close())

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('web', '*.example.com', '10.0.0.0/8', '[::1]:80', '/data/**', '~', '\ud800'),
)
const member = fc.oneof(
  text,
  fc.constantFrom('name', 'scope', 'teams', 'actions', 'decision', 'resources', 'user', 'request'),
)
const action = fc.constantFrom('connect:tcp', 'connect:udp', 'read', 'write', 'fly')
const nearly = fc.record(
  {
    name: text,
    scope: fc.oneof(fc.constant({}), fc.record({ teams: fc.array(fc.uuid(), { maxLength: 2 }) })),
    actions: fc.array(action, { maxLength: 3 }),
    decision: fc.constantFrom('allow', 'deny', 'maybe'),
    resources: fc.array(text, { maxLength: 3 }),
    request: fc.dictionary(member, fc.jsonValue()),
  },
  { requiredKeys: [] },
)
const resource = fc.constantFrom('example.com', '*.example.com:443', '10.0.0.0/8', '::1', '*')
const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 })
const good = fc.oneof(
  fc.record({ name }),
  fc.record({
    name,
    actions: fc.constantFrom(['connect:tcp'], ['connect:udp', 'connect:tcp'], ['read']),
    decision: fc.constantFrom('allow', 'deny'),
    resources: fc.array(resource, { minLength: 1, maxLength: 3 }),
  }),
)
const body = fc.oneof(
  { weight: 3, arbitrary: good.map((value) => JSON.stringify(value)) },
  nearly.map((value) => JSON.stringify(value)),
  fc.dictionary(member, fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
)
const headers = fc.record(
  {
    'content-type': fc.oneof(
      { weight: 5, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: 1 }) },
    ),
    'if-match': fc.oneof(fc.constantFrom('*', '"1"'), fc.string({ unit: 'grapheme-ascii' })),
    'idempotency-key': fc.string({ unit: 'grapheme-ascii', maxLength: 4 }),
  },
  { requiredKeys: [] },
)

it('no body or header causes a server error, and every refusal has the envelope', async () => {
  const seen = new Set<number>()
  const inputs = [fc.nat(4), body, headers, fc.boolean()] as const
  const property = fc.asyncProperty(...inputs, async (index, payload, extra, isPlain) => {
    const target = targets[index] ?? { method: 'POST' as const, url: POLICIES }
    const chosen = isPlain ? { 'content-type': 'application/json' } : extra

    const response = await governed.app.inject({
      ...target,
      payload,
      headers: { ...chosen, authorization },
    })

    seen.add(response.statusCode)
    expect(response.statusCode, response.body).toBeLessThan(500)
    const isRefusal = errorEnvelopeSchema.safeParse(response.json()).success
    expect(isRefusal).toBe(response.statusCode >= 400)
  })

  await fc.assert(property, { numRuns: 600 })

  // The generator must get past the first checks.
  expect([...seen]).toEqual(expect.arrayContaining([200, 201, 400, 415]))
})
