import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import type { StartWorker } from '../platform/start-worker.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import { createAnswerTurns, type AnswerTurns } from '../work/answer-turns.ts'
import { createAnswersInFlight } from './answers-in-flight.ts'
import { createCompiledPolicies } from './compilation/compiled-policies.ts'
import { createKnownPathLoads } from './compilation/path-loads.ts'
import { createPolicyWorker } from './compilation/policy-worker-client.ts'
import { documentRoutes } from './document/document-routes.ts'
import { documentSchemaRoute } from './document/schema-route.ts'
import type { GovernanceDeps, GovernanceRouteDeps } from './governance-call.ts'
import { createKnownRules } from './known-rules.ts'
import { detailedPolicyRoutes } from './detailed-policy-routes.ts'
import { policyRoutes } from './policy-routes.ts'
import { createPolicyViews } from './policy-views.ts'
import { rememberHeads } from './remembered-heads.ts'
import { ruleRoutes } from './rule-routes.ts'
import { whatIfRoutes } from './what-if-routes.ts'

/** A small set that takes longer to compile moves to the worker for large sets. */
const SMALL_TIME_LIMIT_MS = 1_000

export type GovernanceRoutesDeps = Omit<GovernanceDeps, 'knownRules' | 'pathLoads'> &
  Pick<GovernanceRouteDeps, 'pageTokenKey'> & {
    readonly authenticate: Authenticate
    readonly startWorker: StartWorker
    readonly documents: AnswerTurns
  }

/** The governance API and the what-if endpoints, as one entry of `AppDeps.routes`. */
export function governanceRoutes(deps: GovernanceRoutesDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const routeDeps: GovernanceRouteDeps = {
      ...deps,
      knownRules: createKnownRules(),
      pathLoads: createKnownPathLoads(),
      views: createPolicyViews(() => deps.store.generation()),
      turns: createAnswerTurns(),
      inFlight: createAnswersInFlight(),
      beingSent: createAnswersBeingSent(),
    }
    const workers = {
      small: createPolicyWorker({
        startWorker: deps.startWorker,
        timeLimitMs: SMALL_TIME_LIMIT_MS,
      }),
      large: createPolicyWorker({ startWorker: deps.startWorker }),
    }
    app.addHook('onClose', async () => {
      await workers.small.close()
      await workers.large.close()
    })
    registerRoutes(app, deps, [
      ...policyRoutes(routeDeps),
      ...ruleRoutes(routeDeps),
      ...detailedPolicyRoutes(routeDeps),
      ...documentRoutes({ ...routeDeps, documents: deps.documents }),
      ...whatIfRoutes(routeDeps, {
        compiledPolicies: createCompiledPolicies({ workers }),
        readHeads: rememberHeads(),
      }),
      documentSchemaRoute(),
    ])
  }
}
