import { unusedRulesQuerySchema, unusedRulesResponseSchema } from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { formatPrincipal } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createAnswerTurns } from '../../work/answer-turns.ts'
import { listUnusedRules, type UnusedRulesDeps } from './list-unused-rules.ts'

/** `GET /api/v1/orgs/:org/unused-rules` */
export function unusedRulesRoute(deps: UnusedRulesDeps): Route {
  const turns = createAnswerTurns()
  return defineRoute(
    {
      method: 'GET',
      path: '/api/v1/orgs/:org/unused-rules',
      operationId: 'listUnusedRules',
      tags: ['audit'],
      summary: 'Rules that decided nothing in the kept records, and expired rules',
      permission: 'audit:read',
      query: unusedRulesQuerySchema,
      answers: { 200: unusedRulesResponseSchema },
      errors: [429],
    },
    async ({ caller, params: { org }, query }) => {
      await deps.store.read((reader) => authorize(reader, caller, org, 'policies:read'))
      return turns.run(org, () => listUnusedRules(deps, org, query), formatPrincipal(caller))
    },
  )
}
