import { z } from 'zod'
import type { Principal } from '../identity/principal.ts'
import type { RouteCall } from '../identity/routes/route.ts'
import { emptyBody, type RawBody } from '../http/body/raw-body.ts'
import type { RawQuery } from '../http/input/read-query.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { Author } from '../history/author.ts'
import type { AnswerTurns } from '../work/answer-turns.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import type { LargeAnswerDeps } from './answer-policies.ts'
import type { PathLoadDeps } from './compilation/path-loads.ts'
import type { PolicyLimits } from './policy-limits.ts'
import type { PolicyViews } from './policy-views.ts'

/** Limit of a body with one policy or rule: room for 400 KB of JSON, escaped and indented. */
export const MAX_POLICY_BODY_BYTES = 1024 * 1024

/** Dependencies of the operations on policies and rules. */
export interface GovernanceDeps extends PathLoadDeps {
  readonly limits: PolicyLimits
  readonly store: AuditedStore
  readonly budget: WorkBudget
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

/** Dependencies of the routes. */
export interface GovernanceRouteDeps extends GovernanceDeps, LargeAnswerDeps {
  readonly store: AuditedStore
  readonly budget: WorkBudget
  readonly pageTokenKey: Uint8Array
  readonly views: PolicyViews
  /** Turns of documents that are validated. */
  readonly documents: AnswerTurns
}

/**
 * One request of an authenticated caller. Everything else in it is unchecked: organization,
 * permission and resource are looked up first, in that order, so that refusals keep that order too.
 */
export interface GovernanceCall {
  readonly principal: Principal
  readonly author: Author
  readonly org: string
  readonly query: RawQuery
  readonly body: RawBody
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly idempotencyKey: string | undefined
}

export interface PolicyCall extends GovernanceCall {
  readonly policyId: string
}

export interface RuleCall extends PolicyCall {
  readonly ruleId: string
}

/** Query schema of endpoints without parameters. */
export const noQuerySchema = z.strictObject({})

/** Converts an admitted request of a deferred route. */
export function callOf({
  principal,
  caller,
  params,
  query,
  body,
  request,
}: Pick<
  RouteCall<'/:org', RawQuery, RawBody | undefined, unknown, undefined>,
  'principal' | 'caller' | 'params' | 'query' | 'body' | 'request'
>): GovernanceCall {
  // After schema validation Fastify copies all headers at each access to `request.headers`.
  const { headers } = request.raw
  const key = headers['idempotency-key']
  return {
    principal,
    author: caller.author,
    org: params.org,
    query,
    body: body ?? emptyBody(request),
    ifMatch: headers['if-match'],
    ifNoneMatch: headers['if-none-match'],
    idempotencyKey: Array.isArray(key) ? key.join(', ') : key,
  }
}
