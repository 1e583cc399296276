import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import type { Sources } from '../platform/sources.ts'
import type { StartWorker } from '../platform/start-worker.ts'
import { createAnswerTurns, type AnswerTurns } from '../work/answer-turns.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import { createAnswersInFlight } from './answers-in-flight.ts'
import { createCompiledPolicies } from './compilation/compiled-policies.ts'
import { createKnownPathLoads } from './compilation/path-loads.ts'
import { createPolicyWorker } from './compilation/policy-worker-client.ts'
import { detailedPolicyRoutes } from './detailed-policy-routes.ts'
import { createDocumentTurns } from './document/apply-document.ts'
import { documentRoutes } from './document/document-routes.ts'
import { createDraftDocument, type DraftDocument } from './document/draft-document.ts'
import { documentSchemaRoute } from './document/schema-route.ts'
import type { GovernanceRouteDeps } from './governance-call.ts'
import type { KnownRules } from './known-rules.ts'
import type { PolicyLimits } from './policy-limits.ts'
import { policyRoutes } from './policy-routes.ts'
import { createPolicyViews } from './policy-views.ts'
import { rememberHeads } from './remembered-heads.ts'
import { ruleRoutes } from './rule-routes.ts'
import { whatIfRoutes } from './what-if-routes.ts'

/** A small set that takes longer to compile moves to the worker for large sets. */
const SMALL_TIME_LIMIT_MS = 1_000

export interface Governance {
  /** Turns of documents that are validated. */
  readonly documents: AnswerTurns
  readonly draft: DraftDocument
  /** The governance API and the what-if endpoints. */
  readonly routes: FastifyPluginAsyncZod
}

/** Composes policies and rules, documents and `check`. */
export function composeGovernance(deps: {
  readonly audited: AuditedStore
  readonly authenticate: Authenticate
  readonly limits: PolicyLimits
  readonly knownRules: KnownRules
  readonly budget: WorkBudget
  readonly pageTokenKey: Uint8Array
  readonly startWorker: StartWorker
  readonly sources: Pick<Sources, 'now' | 'random'>
}): Governance {
  const { audited: store, authenticate, startWorker } = deps
  const documents = createDocumentTurns()
  const operations: GovernanceRouteDeps = {
    store,
    limits: deps.limits,
    knownRules: deps.knownRules,
    pathLoads: createKnownPathLoads(),
    budget: deps.budget,
    documents,
    pageTokenKey: deps.pageTokenKey,
    now: deps.sources.now,
    random: deps.sources.random,
    views: createPolicyViews(() => store.generation()),
    turns: createAnswerTurns(),
    inFlight: createAnswersInFlight(),
    beingSent: createAnswersBeingSent(),
  }
  const workers = {
    small: createPolicyWorker({ startWorker, timeLimitMs: SMALL_TIME_LIMIT_MS }),
    large: createPolicyWorker({ startWorker }),
  }
  const compiledPolicies = createCompiledPolicies({ workers })

  return {
    documents,
    draft: createDraftDocument(operations),
    async routes(app) {
      app.addHook('onClose', async () => {
        await workers.small.close()
        await workers.large.close()
      })
      registerRoutes(app, { authenticate, store }, [
        ...policyRoutes(operations),
        ...ruleRoutes(operations),
        ...detailedPolicyRoutes(operations),
        ...documentRoutes(operations),
        ...whatIfRoutes(operations, { compiledPolicies, readHeads: rememberHeads() }),
        documentSchemaRoute(),
      ])
    },
  }
}
