import type { PolicyBody, RuleBody } from '@palisade/protocol'
import { expect } from 'vitest'
import type { GovernedApp } from '../http/governed-app.ts'

export const POLICIES = '/v2/orgs/acme/governance/policies'

/** A rule body that compiles; name and members can be replaced. */
export const RULE = {
  name: 'web',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['example.com:443'],
} as const

export async function createPolicy(
  governed: GovernedApp,
  name: string,
  scope: object = {},
): Promise<PolicyBody> {
  const response = await governed.send({ method: 'POST', url: POLICIES, payload: { name, scope } })
  expect(response.statusCode, response.body).toBe(201)
  return response.json()
}

export async function createRule(
  governed: GovernedApp,
  policyId: string,
  rule: object = {},
): Promise<RuleBody> {
  const url = `${POLICIES}/${policyId}/rules`
  const response = await governed.send({ method: 'POST', url, payload: { ...RULE, ...rule } })
  expect(response.statusCode, response.body).toBe(201)
  return response.json()
}

export async function getPolicy(governed: GovernedApp, policyId: string): Promise<PolicyBody> {
  const response = await governed.send({ url: `${POLICIES}/${policyId}` })
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}
