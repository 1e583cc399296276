import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { createAdmission } from '../identity/admission.ts'
import { deferredValidator } from '../http/input/validation.ts'
import { registerDocumentRoutes } from './document/document-routes.ts'
import { createAnswerTurns } from '../operations/overload/answer-turns.ts'
import type { GovernanceDeps, GovernanceRouteDeps } from './governance-call.ts'
import { createKnownRules } from './known-rules.ts'
import { createKnownPathLoads } from './compilation/path-loads.ts'
import { registerPolicyRoutes } from './policy-routes.ts'
import { createPolicyViews } from './policy-views.ts'
import { registerRuleRoutes } from './rule-routes.ts'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import { createAnswersInFlight } from './answers-in-flight.ts'
import { registerWhatIfRoutes } from './what-if-routes.ts'

/** That wait, of each organization; the bytes of one may be 16 MiB. */
const MAX_DOCUMENTS = 8

/** The governance API and the questions about what its policies mean; a part of `AppDeps.routes`. */
export function governanceRoutes(
  deps: Omit<GovernanceDeps, 'knownRules' | 'pathLoads'> &
    Pick<GovernanceRouteDeps, 'pageTokenKey'>,
): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const views = createPolicyViews(() => deps.store.generation())
    const large = {
      turns: createAnswerTurns(),
      inFlight: createAnswersInFlight(),
      beingSent: createAnswersBeingSent(),
    }
    const known = { knownRules: createKnownRules(), pathLoads: createKnownPathLoads() }
    const routeDeps = { ...deps, ...large, ...known, admission, views }
    // Before the body is read, so that a stranger cannot make the server hold one.
    app.addHook('onRequest', admission.signedIn)
    app.setValidatorCompiler(deferredValidator)
    registerPolicyRoutes(app, routeDeps)
    registerRuleRoutes(app, routeDeps)
    registerDocumentRoutes(app, { ...routeDeps, documents: createAnswerTurns(MAX_DOCUMENTS) })
    registerWhatIfRoutes(app, routeDeps)
  }
}
