import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, RULE } from './policies.ts'

let governed: GovernedApp
let policyId: string
let ruleId: string

beforeAll(async () => {
  governed = await openGovernedApp({ limits: { maxPolicies: 1, maxRules: 1 } })
  policyId = (await createPolicy(governed, 'taken')).id
  ruleId = (await createRule(governed, policyId)).id
})
afterAll(() => governed.close())

interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below the organization; PID and RID stand for ids. */
  readonly path: string
  /** A body that passes the schema and then fails for a limit or a name in use. */
  readonly body?: object
}

const ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: 'policies' },
  { method: 'POST', path: 'policies', body: { name: 'taken' } },
  { method: 'GET', path: 'policies/PID' },
  { method: 'PATCH', path: 'policies/PID', body: { name: 'other' } },
  { method: 'DELETE', path: 'policies/PID' },
  { method: 'POST', path: 'policies/PID/rules', body: RULE },
  { method: 'PATCH', path: 'policies/PID/rules/RID', body: { name: 'other' } },
  { method: 'DELETE', path: 'policies/PID/rules/RID' },
]
const TITLED = ENDPOINTS.map(
  (endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const,
)
const WITH_ID = TITLED.filter(([, { path }]) => path.includes('PID'))
const WITH_RULE_ID = TITLED.filter(([, { path }]) => path.includes('RID'))
const WRITES = TITLED.filter(([, { method }]) => method !== 'GET')
/** All endpoints except the list. */
const CONDITIONAL = TITLED.slice(1)
const WITH_BODY = TITLED.filter(([, { body }]) => body !== undefined)

/** A request with all faults that come after the organization. */
const FAULTS: InjectOptions = {
  query: { unknown: '1' },
  headers: { 'content-type': 'text/plain', 'if-match': 'nonsense' },
}

interface Target {
  readonly as?: string | null
  readonly org?: string
  readonly policy?: string
  readonly rule?: string
}

async function refusal(endpoint: Endpoint, target: Target, rest: InjectOptions): Promise<string> {
  const path = endpoint.path
    .replace('PID', target.policy ?? policyId)
    .replace('RID', target.rule ?? ruleId)
  const response = await governed.send({
    as: target.as === undefined ? 'olga' : target.as,
    method: endpoint.method,
    url: `/v2/orgs/${target.org ?? 'acme'}/governance/${path}`,
    ...(endpoint.body === undefined ? {} : { payload: '{"name":null' }),
    ...rest,
  })
  return `${response.statusCode} ${response.json().error?.code}`
}

describe('the order of checks', () => {
  it.each(TITLED)('%s: 401 comes before everything', async (_title, endpoint) => {
    const target = { as: null, org: 'nowhere', policy: 'x', rule: 'x' }
    expect(await refusal(endpoint, target, FAULTS)).toBe('401 unauthenticated')
  })

  it.each(TITLED)('%s: then 404 for the organization', async (_title, endpoint) => {
    const target = { policy: 'x', rule: 'x' }
    for (const org of ['nowhere', 'rival'])
      expect(await refusal(endpoint, { ...target, org }, FAULTS)).toBe('404 not_found')
  })

  it.each(TITLED)('%s: then 403 for permission and entitlement', async (_title, endpoint) => {
    const target = { policy: 'x', rule: 'x' }
    const denied = '403 permission_denied'
    expect(await refusal(endpoint, { ...target, as: 'mia' }, FAULTS)).toBe(denied)
    expect(await refusal(endpoint, { ...target, org: 'poor' }, FAULTS)).toBe(denied)
  })

  it.each(WRITES)('%s: an auditor may not write', async (_title, endpoint) => {
    const target = { as: 'audrey', policy: 'x', rule: 'x' }
    expect(await refusal(endpoint, target, FAULTS)).toBe('403 permission_denied')
  })

  it.each(WITH_ID)('%s: then 404 for the resource', async (_title, endpoint) => {
    expect(await refusal(endpoint, { policy: 'x', rule: 'x' }, FAULTS)).toBe('404 not_found')
  })

  it.each(WITH_RULE_ID)('%s: then 404 for the rule', async (_title, endpoint) => {
    expect(await refusal(endpoint, { rule: 'x' }, FAULTS)).toBe('404 not_found')
  })

  it.each(WITH_BODY)('%s: then 415, 413 and 400 for the body', async (_title, endpoint) => {
    const json = { 'content-type': 'application/json', 'if-match': '"0"' }
    const large = 'x'.repeat(1024 * 1024 + 1)
    expect(await refusal(endpoint, {}, FAULTS)).toBe('415 invalid_argument')
    expect(await refusal(endpoint, {}, { headers: json, payload: large })).toBe(
      '413 invalid_argument',
    )
    expect(await refusal(endpoint, {}, { headers: json })).toBe('400 invalid_argument')
  })

  it.each(TITLED)('%s: then 400 for the query', async (_title, endpoint) => {
    const payload = endpoint.body === undefined ? {} : { payload: endpoint.body }
    const stale = { 'if-match': '"0"' }
    expect(
      await refusal(endpoint, {}, { ...payload, headers: stale, query: { unknown: '1' } }),
    ).toBe('400 invalid_argument')
  })

  it.each(CONDITIONAL)('%s: then 400 for a malformed precondition', async (_title, endpoint) => {
    const payload = endpoint.body === undefined ? {} : { payload: endpoint.body }
    const headers = { 'if-match': '0' }
    expect(await refusal(endpoint, {}, { ...payload, headers })).toBe('400 invalid_argument')
  })

  it.each(CONDITIONAL)('%s: then 412', async (_title, endpoint) => {
    const payload = endpoint.body === undefined ? {} : { payload: endpoint.body }
    const headers = { 'if-match': '"0"' }
    expect(await refusal(endpoint, {}, { ...payload, headers })).toBe('412 conflict')
  })

  it('POST policies: then the limit, before the name', async () => {
    const endpoint: Endpoint = { method: 'POST', path: 'policies' }
    const payload = { name: 'taken' }
    expect(await refusal(endpoint, {}, { payload })).toBe('403 limit_exceeded')
  })

  it('POST rules: then the limit, before the name', async () => {
    const endpoint: Endpoint = { method: 'POST', path: 'policies/PID/rules' }
    expect(await refusal(endpoint, {}, { payload: RULE })).toBe('403 limit_exceeded')
  })

  it('gives the same answer for an unknown and a foreign organization', async () => {
    const answers = await Promise.all(
      ['nowhere', 'rival'].map(async (org) => {
        const headers = { 'x-request-id': 'same' }
        const url = `/v2/orgs/${org}/governance/policies`
        return (await governed.send({ url, headers })).json()
      }),
    )
    expect(answers[0]).toEqual(answers[1])
  })
})

describe('permissions', () => {
  it.each([
    ['olga', 200],
    ['ed', 200],
    ['audrey', 200],
    ['mia', 403],
  ])('%s: list answers %i', async (as, list) => {
    const response = await governed.send({ as, url: '/v2/orgs/acme/governance/policies' })
    expect(response.statusCode).toBe(list)
  })

  it('an access token has only the permissions it was created with', async () => {
    const read = await governed.tokenFor('olga', ['policies:read'])
    const url = '/v2/orgs/acme/governance/policies'
    const headers = { authorization: `Bearer ${read}` }

    const list = await governed.app.inject({ url, headers })
    const create = await governed.app.inject({ method: 'POST', url, headers, payload: {} })

    expect(list.statusCode).toBe(200)
    expect(create.statusCode).toBe(403)
  })

  it('an organization token works only in its organization', async () => {
    const token = await governed.organizationToken('rival', ['policies:read'])
    const headers = { authorization: `Bearer ${token}` }
    const list = (org: string) =>
      governed.app.inject({ url: `/v2/orgs/${org}/governance/policies`, headers })

    expect((await list('rival')).statusCode).toBe(200)
    expect((await list('acme')).statusCode).toBe(404)
  })
})
