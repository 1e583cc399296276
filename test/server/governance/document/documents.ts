import type { ApplyRequest, ApplyResponse, ExportResponse } from '@palisade/protocol'
import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import type { GovernedApp } from '../../http/governed-app.ts'

export const APPLY = '/api/v1/orgs/acme/apply'
export const EXPORT = '/api/v1/orgs/acme/export'

/** A rule of a document, such as `rule('web', 'example.com')`. */
export function rule(name: string, ...resources: string[]) {
  return { name, actions: ['connect:tcp' as const], decision: 'allow' as const, resources }
}

export function post(
  governed: GovernedApp,
  payload: ApplyRequest | object | string,
  headers: Record<string, string> = {},
): Promise<LightMyRequestResponse> {
  const type = { 'content-type': 'application/json' }
  return governed.send({ method: 'POST', url: APPLY, payload, headers: { ...type, ...headers } })
}

export async function apply(governed: GovernedApp, request: ApplyRequest): Promise<ApplyResponse> {
  const response = await post(governed, request)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

export async function exported(governed: GovernedApp): Promise<ExportResponse> {
  const response = await governed.send({ url: EXPORT })
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

/** The state that a refused request must not change. */
export async function stateOf(governed: GovernedApp): Promise<unknown> {
  return governed.store.read(async (reader) => [
    await reader.policies.listWithRules('acme'),
    await reader.organizations.find('acme'),
  ])
}
