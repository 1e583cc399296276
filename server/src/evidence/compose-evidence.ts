import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { acceptOrganizationTokens } from '../identity/accept-organization-tokens.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import type { TokenUse } from '../identity/token-use.ts'
import type { Log } from '../operations/log/create-log.ts'
import type { Metrics } from '../operations/metrics/create-metrics.ts'
import type { BackgroundTask } from '../platform/background-task.ts'
import type { Sources } from '../platform/sources.ts'
import type { StartWorker } from '../platform/start-worker.ts'
import { readVersion } from '../platform/version.ts'
import type { AnswerTurns } from '../work/answer-turns.ts'
import { createProcessPool } from '../work/process-pool.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { deviceRecordsRoute } from './device-records-route.ts'
import type { ExportSettings } from './export/export-settings.ts'
import { openExports } from './export/open-exports.ts'
import type { IngestWorkerData } from './ingest/ingest-messages.ts'
import { createIngestThread } from './ingest/ingest-thread.ts'
import { recordRoutes, type RecordRouteDeps } from './ingest/record-routes.ts'
import { replayRoutes, type ReplayRouteDeps } from './replay/replay-routes.ts'
import { createEvidenceRetention } from './evidence-retention.ts'
import type { EvidenceStore } from './store/evidence-store.ts'
import { suggestionRoutes } from './suggest/suggestion-routes.ts'
import { unusedRulesRoute } from './unused-rules/unused-rules-route.ts'

export interface EvidenceSettings extends IngestWorkerData {
  /** Retention of decision records; 0 keeps them forever. */
  readonly evidenceDays: number
  readonly exports: ExportSettings
}

/** Decision records of machines, while the server runs. */
export interface Evidence {
  /** The upload of records by machines, and the questions that they answer. */
  readonly routes: FastifyPluginAsyncZod
  /** The removal of old records, and the export of new ones. */
  readonly jobs: readonly BackgroundTask[]
  /** Call it after the last request: stores the batches that are still in memory. */
  close(): Promise<void>
}

/**
 * Composes the upload, the questions and the export of decision records. Throws ConfigError for
 * files of the settings.
 */
export function composeEvidence(deps: {
  readonly settings: EvidenceSettings
  readonly audited: AuditedStore
  readonly evidence: EvidenceStore
  readonly authenticate: Authenticate
  readonly tokenUse: Pick<TokenUse, 'note'>
  readonly proofs: RecordRouteDeps['proofs']
  readonly views: RecordRouteDeps['views']
  readonly documents: AnswerTurns
  readonly draft: ReplayRouteDeps['draft']
  readonly budget: WorkBudget
  readonly pageTokenKey: Uint8Array
  readonly startWorker: StartWorker
  readonly startProcess: StartWorker
  readonly metrics: Pick<Metrics, 'watchExports'>
  readonly log: Log
  readonly sources: Sources
}): Evidence {
  const { settings, audited: store, evidence, authenticate, budget, pageTokenKey, log } = deps
  const { tokenUse, startWorker, startProcess, sources } = deps
  const { now, monotonicMs } = sources

  const retention = createEvidenceRetention({ evidence, days: settings.evidenceDays, now, log })
  const exports = openExports({
    settings: settings.exports,
    evidence,
    store,
    version: readVersion(),
    log,
    sources,
  })
  deps.metrics.watchExports(() => ({
    exporters: exports.exporters,
    neverExported: retention.neverExported(),
    nowMs: now().getTime(),
  }))

  const thread = createIngestThread(settings, evidence, log, { startWorker })
  const records = recordRoutes({
    store,
    evidence,
    ingest: thread.ingest,
    proofs: deps.proofs,
    views: deps.views,
    log,
    now,
    monotonicMs,
  })
  const storage = { dataDir: settings.dataDir, databaseUrl: settings.databaseUrl }
  const processes = createProcessPool(startProcess)
  const replays = replayRoutes({
    store,
    evidence,
    storage,
    documents: deps.documents,
    draft: deps.draft,
    budget,
    processes,
    now,
    monotonicMs,
  })
  const suggestions = suggestionRoutes({ store, storage, budget, processes, now, monotonicMs })
  const unusedRules = unusedRulesRoute({ store, evidence, pageTokenKey, now })
  const devices = deviceRecordsRoute({ evidence, now })
  const routes = [records, devices, replays, suggestions, unusedRules].flat()
  const audit = auditRoutes({ store, evidence, pageTokenKey, now, monotonicMs })
  const collectors = acceptOrganizationTokens(authenticate, { store, tokenUse, now })

  return {
    async routes(app) {
      registerRoutes(app, { authenticate, store }, routes)
      registerRoutes(app, { authenticate: collectors, store }, audit)
    },
    jobs: [retention, exports.task],
    close: () => thread.close(),
  }
}
