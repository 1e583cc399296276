import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Config } from './config/config.ts'
import { eventRoutes } from './events/event-routes.ts'
import { composeEvidence } from './evidence/compose-evidence.ts'
import type { EvidenceStore } from './evidence/store/evidence-store.ts'
import { composeFleet } from './fleet/compose-fleet.ts'
import { composeMachines } from './fleet/compose-machines.ts'
import type { Hints } from './fleet/hint/hints.ts'
import { composeGovernance } from './governance/compose-governance.ts'
import { createKnownRules } from './governance/known-rules.ts'
import { createAuditedStore } from './history/audit/audited-store.ts'
import { loadPageTokenKey } from './http/input/page-token.ts'
import type { ListenSettings } from './http/listening-address.ts'
import { composeIdentity } from './identity/compose-identity.ts'
import { createHistoryRoom } from './identity/limits/disk-room.ts'
import type { WriteLimits } from './identity/limits/write-limits.ts'
import type { Log } from './operations/log/create-log.ts'
import type { Metrics } from './operations/metrics/create-metrics.ts'
import { createHistoryRetention } from './operations/storage/history-retention.ts'
import { composeOrganizations } from './organizations/compose-organizations.ts'
import type { BackgroundTask } from './platform/background-task.ts'
import type { Sources } from './platform/sources.ts'
import type { StartWorker } from './platform/start-worker.ts'
import type { Store } from './store/store.ts'
import type { ViewService } from './views/view-service.ts'
import { composeWebhooks } from './webhooks/compose-webhooks.ts'
import { createWorkBudget } from './work/work-budget.ts'

/** The rooms of the server, which answer requests and work in the background. */
export interface Rooms {
  /** In the order of the OpenAPI document. */
  readonly routes: readonly FastifyPluginAsyncZod[]
  readonly jobs: readonly BackgroundTask[]
  readonly writeLimits: WriteLimits
  readonly views: ViewService
  /** Must be closed before the requests that wait for a hint. Null when hints are turned off. */
  readonly hints: Hints | null
  /** Call it after the last request: writes the values that are still in memory. */
  close(): Promise<void>
}

/** Composes the rooms, each after those that it is given. */
export async function composeRooms(deps: {
  readonly config: Config
  readonly listen: ListenSettings
  readonly store: Store
  readonly evidence: EvidenceStore
  readonly metrics: Metrics
  readonly log: Log
  readonly startWorker: StartWorker
  readonly startProcess: StartWorker
  readonly sources: Sources
}): Promise<Rooms> {
  const { config, store, evidence, metrics, log, startWorker, startProcess, sources } = deps
  const { limits, quotas, historyDays: days, maxHistoryMib: maxMib } = config
  const { now, random } = sources
  const pageTokenKey = await loadPageTokenKey(store, random)
  const knownRules = createKnownRules()
  const budget = createWorkBudget()

  const webhooks = composeWebhooks({ store, networks: config.webhookNetworks, log, sources })
  const machines = await composeMachines({ settings: config, store, log, sources })
  const { proofs, views, hints } = machines
  const audited = createAuditedStore({
    store,
    now,
    requireRoom: createHistoryRoom(maxMib, config),
    onEvents(orgs) {
      webhooks.deliverer.wake()
      views.changed(orgs)
      hints?.changed()
    },
  })
  const retention = createHistoryRetention({ store: audited, days, maxMib, now, log })

  const identity = composeIdentity({ settings: config, store, audited, metrics, log, sources })
  const { authenticate, tokenUse, passwordQueue, writeLimits } = identity
  const governance = composeGovernance({
    audited,
    authenticate,
    limits,
    knownRules,
    budget,
    pageTokenKey,
    startWorker,
    sources,
  })
  const organizations = composeOrganizations({ audited, identity, quotas, pageTokenKey, sources })
  const fleet = composeFleet({
    settings: config,
    listen: deps.listen,
    store,
    audited,
    evidence,
    identity,
    machines,
    knownRules,
    budget,
    pageTokenKey,
    startProcess,
    log,
    sources,
  })
  const records = composeEvidence({
    settings: config,
    audited,
    evidence,
    authenticate,
    tokenUse,
    proofs,
    views,
    documents: governance.documents,
    draft: governance.draft,
    budget,
    pageTokenKey,
    startWorker,
    startProcess,
    metrics,
    log,
    sources,
  })
  metrics.watchQueue('password', () => passwordQueue.waiting())
  metrics.watchQueue('hints', () => hints?.waiting() ?? 0)

  return {
    routes: [
      governance.routes,
      identity.routes,
      organizations,
      fleet.routes,
      records.routes,
      webhooks.routes({ store: audited, authenticate, quotas, budget, pageTokenKey }),
      eventRoutes({ store: audited, authenticate, budget, pageTokenKey }),
    ],
    jobs: [[webhooks.deliverer, retention], fleet.jobs, records.jobs, identity.jobs].flat(),
    writeLimits,
    views,
    hints,
    async close() {
      await records.close()
      await machines.close()
    },
  }
}
