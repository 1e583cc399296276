import type { FastifyInstance } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { EvidenceStore } from '../evidence/store/evidence-store.ts'
import type { KnownRules } from '../governance/known-rules.ts'
import type { PolicyLimits } from '../governance/policy-limits.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { reachableOrigin, type ListenSettings } from '../http/listening-address.ts'
import type { Identity } from '../identity/compose-identity.ts'
import type { Quotas } from '../identity/limits/quotas.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import type { Log } from '../operations/log/create-log.ts'
import type { BackgroundTask } from '../platform/background-task.ts'
import type { Sources } from '../platform/sources.ts'
import type { StartWorker } from '../platform/start-worker.ts'
import type { Store } from '../store/store.ts'
import { viewRoutes } from '../views/view-routes.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import { createAccessExpiry } from './access/access-expiry.ts'
import { accessRoutes } from './access/access-routes.ts'
import { createAccessService } from './access/access-service.ts'
import { deviceAccessRoutes } from './access/device-access-routes.ts'
import { breakGlassRoutes } from './break-glass/break-glass-routes.ts'
import { bundleRoute } from './bundle-route.ts'
import type { Machines } from './compose-machines.ts'
import { deviceRoutes } from './devices/device-routes.ts'
import { deviceTokenRoutes } from './devices/device-token-routes.ts'
import { enrolmentTokenRoutes } from './enrolment/enrolment-token-routes.ts'
import { hintRoutes } from './hint/hint-routes.ts'
import { reportRoute } from './machines/report-route.ts'
import { revisionRoute } from './machines/revision-status.ts'
import { rolloutRoutes } from './rollout/rollout-routes.ts'
import { openRolloutWatch } from './rollout/rollout-watch.ts'

export interface FleetSettings {
  readonly quotas: Quotas
  readonly limits: PolicyLimits
  /** Origin under which machines reach the server; null to use where it listens. */
  readonly publicUrl: string | null
}

export interface Fleet {
  readonly routes: FastifyPluginAsyncZod
  readonly jobs: readonly BackgroundTask[]
}

/** Composes routes of machines: enrolment, administration, and the files that they fetch. */
export function composeFleet(deps: {
  readonly settings: FleetSettings
  readonly listen: ListenSettings
  readonly store: Store
  readonly audited: AuditedStore
  readonly evidence: EvidenceStore
  readonly identity: Pick<Identity, 'authenticate' | 'signInLimits' | 'writeLimits'>
  readonly machines: Machines
  readonly knownRules: KnownRules
  readonly budget: WorkBudget
  readonly pageTokenKey: Uint8Array
  readonly startProcess: StartWorker
  readonly log: Log
  readonly sources: Sources
}): Fleet {
  const { audited: store, evidence, knownRules, budget, pageTokenKey, startProcess, log } = deps
  const { quotas, limits } = deps.settings
  const { authenticate, signInLimits, writeLimits } = deps.identity
  const { tokens, proofs, lastSeen, reports, views, hints } = deps.machines
  const { now, random, newId, monotonicMs } = deps.sources
  const access = createAccessService({
    store,
    evidence,
    writeLimits,
    budget,
    pageTokenKey,
    startProcess,
    now,
    random,
  })

  async function routes(app: FastifyInstance): Promise<void> {
    const publicUrl = (): string =>
      deps.settings.publicUrl ?? reachableOrigin(app.server, deps.listen)
    registerRoutes(app, { authenticate, store }, [
      ...enrolmentTokenRoutes({ store, quotas, pageTokenKey, publicUrl, now, random, newId }),
      ...deviceRoutes({
        store,
        proofs,
        quotas,
        writeLimits,
        budget,
        pageTokenKey,
        publicUrl,
        now,
        newId,
      }),
      ...deviceTokenRoutes({ store, tokens, proofs, signInLimits, quotas, publicUrl, now, newId }),
      ...viewRoutes({ views, proofs }),
      reportRoute({ store, views, proofs, reports, lastSeen, now, monotonicMs }),
      ...hintRoutes({ views, proofs, hints, now, random }),
      bundleRoute({ store, views, budget }),
      ...breakGlassRoutes({ store, now, newId }),
      ...accessRoutes(access),
      ...deviceAccessRoutes({ service: access, views, proofs, monotonicMs }),
      revisionRoute({ store, views, budget, now, monotonicMs }),
      ...rolloutRoutes({
        store,
        views,
        limits,
        knownRules,
        budget,
        pageTokenKey,
        now,
        random,
        newId,
        monotonicMs,
      }),
    ])
  }

  return {
    routes,
    jobs: [
      openRolloutWatch({ store: deps.store, audited: store, views, now, log }),
      createAccessExpiry({ store, now, log }),
    ],
  }
}
