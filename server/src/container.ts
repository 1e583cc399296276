// tsyringe refuses to load without `Reflect.getMetadata`, so this import stays first.
import '@abraham/reflection'
import type { FastifyInstance } from 'fastify'
import { Server as TlsServer } from 'node:https'
import {
  container as root,
  instanceCachingFactory,
  type DependencyContainer,
  type InjectionToken,
} from 'tsyringe'
import { adminRoutes } from './organizations/admin-routes.ts'
import { openIdentity, type Identity } from './identity/open-identity.ts'
import { tokenRoutes } from './identity/token-routes.ts'
import type { Config } from './config/config.ts'
import { evidenceRoutes } from './evidence/evidence-routes.ts'
import { createIngestThread } from './evidence/ingest/ingest-thread.ts'
import { openEvidenceJobs } from './evidence/open-evidence-jobs.ts'
import type { EvidenceStore } from './evidence/store/evidence-store.ts'
import { createAccessExpiry } from './fleet/access/access-expiry.ts'
import { distributionRoutes } from './fleet/distribution-routes.ts'
import { openMachines, type Machines } from './fleet/open-machines.ts'
import { openRolloutWatch } from './fleet/rollout/rollout-watch.ts'
import { createPollShortcut } from './views/poll-shortcut.ts'
import { createDocumentTurns } from './governance/document/apply-document.ts'
import { createDraftDocument } from './governance/document/draft-document.ts'
import { governanceRoutes } from './governance/governance-routes.ts'
import { loadPageTokenKey } from './http/input/page-token.ts'
import { createDiskRoom } from './identity/limits/disk-room.ts'
import { createHistoryQuota } from './identity/limits/history-quota.ts'
import { createAnswerExpiry } from './identity/idempotency/forget-answers.ts'
import { createHistoryRetention } from './operations/storage/retention.ts'
import type { RequireHistoryRoom } from './history/change-log.ts'
import { createAuditedStore } from './history/audit/audited-store.ts'
import { eventRoutes } from './events/event-routes.ts'
import { createApp } from './http/create-app.ts'
import {
  boundAddress,
  listeningOrigin,
  reachableOrigin,
  type ListenSettings,
} from './http/listening-address.ts'
import { createReadiness } from './http/readiness.ts'
import { createLog, type Log, type LogSettings } from './operations/log/create-log.ts'
import { reportSchemaChange } from './operations/log/report-schema-change.ts'
import { createMetrics, type Metrics } from './operations/metrics/create-metrics.ts'
import { metricsRoutes } from './http/metrics-routes.ts'
import { createWorkBudget } from './work/work-budget.ts'
import { watchOverload, type WatchedOverload } from './operations/overload/watch-overload.ts'
import type { Sources } from './platform/sources.ts'
import { startThread, type StartWorker } from './platform/start-worker.ts'
import { withHooks } from './store/store-hooks.ts'
import type { Store } from './store/store.ts'
import type { Certificate } from './operations/tls/certificate.ts'
import { replaceCertificate } from './operations/tls/listener.ts'
import { createRevocationFinish } from './identity/tokens/finish-revocations.ts'
import { ensureSigningKeys } from './identity/tokens/signing-keys.ts'
import { openTracing } from './operations/tracing/open-tracing.ts'
import type { Tracing } from './operations/tracing/tracing.ts'
import { readVersion } from './platform/version.ts'
import { createWebhooks } from './webhooks/create-webhooks.ts'
import { createProcessPool } from './work/process-pool.ts'
import { startProcess } from './work/start-process.ts'

/** Throws if either of them throws. */
function bothOf(one: RequireHistoryRoom, other: RequireHistoryRoom): RequireHistoryRoom {
  return async (...made) => {
    await one(...made)
    await other(...made)
  }
}

/** The server, ready to listen. */
export interface Server {
  readonly app: FastifyInstance
  readonly log: Log
  /** The listening origin; with port 0 it is known only once the server listens. */
  origin(): string
  /** The listening IP address, or the configured host before the server listens. */
  address(): string
  /** Makes `/readyz` answer 503; all other requests are still served. */
  announceStop(): void
  /** Uses another certificate from the next handshake on; only with TLS. */
  replaceCertificate(certificate: Certificate): void
  /** Accepts no more connections and lets running requests finish. */
  close(): Promise<void>
}

export interface ServerOptions {
  readonly config: Config
  readonly sources: Sources
  /** Owned by the caller, who closes it after the server. */
  readonly store: Store
  /** The records of machines; owned by the caller as well. */
  readonly evidence: EvidenceStore
  readonly logger: LogSettings | false
  /** Enables TLS; plain HTTP without it. */
  readonly certificate?: Certificate | undefined
}

/** The overload watch, which tests may replace. */
export const OVERLOAD: InjectionToken<WatchedOverload> = Symbol('Overload')
/** How threads are started; tests in process run their code without one. */
export const START_WORKER: InjectionToken<StartWorker> = Symbol('StartWorker')
/** How child processes are started; tests in process run their code without one. */
export const START_PROCESS: InjectionToken<StartWorker> = Symbol('StartProcess')
const LOG: InjectionToken<Log> = Symbol('Log')

export function createParts({
  config,
  logger,
}: Pick<ServerOptions, 'config' | 'logger'>): DependencyContainer {
  const parts = root.createChildContainer()
  const limitMs = config.overloadDelayMs
  parts.register(START_WORKER, { useValue: startThread })
  parts.register(START_PROCESS, { useValue: startProcess })
  parts.register(LOG, { useValue: createLog(logger) })
  parts.register(OVERLOAD, {
    useFactory: instanceCachingFactory((made) =>
      watchOverload({ limitMs, log: made.resolve(LOG), random: Math.random }),
    ),
  })
  return parts
}

/** Bounds of long work on policies, for all rooms together. */
const createPolicyWork = () => ({
  budget: createWorkBudget(),
  documents: createDocumentTurns(),
})

/** Composes the server, from the store up to the routes. */
export async function createServer(
  options: ServerOptions,
  parts: DependencyContainer = createParts(options),
): Promise<Server> {
  const { config, sources, evidence } = options
  const { host, port } = config
  const scheme = options.certificate === undefined ? 'http' : 'https'
  const listen: ListenSettings = { host, port, scheme }
  const log = parts.resolve(LOG)
  const metrics = createMetrics({ version: readVersion() })
  const tracing = await openTracing(config.tracing, log)
  const store = observeStore(options.store, { log, metrics, tracing })
  await ensureSigningKeys(store, 'access_token', sources.now)

  const pageTokenKey = await loadPageTokenKey(store, sources.random)
  const webhooks = createWebhooks({ store, networks: config.webhookNetworks, log, sources })
  const machines = await openMachines({ settings: config, store, log, sources })
  const onEvents = notifyOfEvents(webhooks.courier, machines)
  const requireRoom = bothOf(createHistoryQuota(config.maxHistoryMib), createDiskRoom(config))
  const audited = createAuditedStore({ store, ...sources, requireRoom, onEvents })
  const policies = { limits: config.limits, pageTokenKey, ...createPolicyWork() }
  const historyLimits = { days: config.historyDays, maxMib: config.maxHistoryMib }
  const jobs = [
    webhooks.courier,
    openRolloutWatch({ store, audited, ...machines, sources, log }),
    createHistoryRetention({ store: audited, ...historyLimits, log, ...sources }),
    createAccessExpiry({ store: audited, log, ...sources }),
    ...openEvidenceJobs({ config, evidence, store, metrics, log, sources }),
    createAnswerExpiry({ store, log, ...sources }),
    createRevocationFinish({ store: audited, log }),
  ]

  const startWorker = parts.resolve(START_WORKER)
  const ingestThread = createIngestThread(config, evidence, log, { startWorker })
  const identity = openIdentity({ settings: config, store, audited, metrics, log, sources })
  watchQueues(metrics, identity, machines)
  const shared = { ...identity, quotas: config.quotas, ...policies, ...sources, startWorker }
  const routes = [
    governanceRoutes({ store: audited, ...shared }),
    tokenRoutes({
      store,
      ...shared,
      observeSignIn: metrics.observeSignIn,
      accessTokenMinutes: config.accessTokenMinutes,
    }),
    adminRoutes({ store: audited, ...shared }),
    distributionRoutes({
      store: audited,
      evidence,
      ...shared,
      ...machines,
      publicUrl: () => config.publicUrl ?? reachableOrigin(app.server, listen),
    }),
    evidenceRoutes({
      store: audited,
      evidence,
      ingest: ingestThread.ingest,
      storage: config,
      draft: createDraftDocument({ store: audited, ...shared }),
      processes: createProcessPool(parts.resolve(START_PROCESS)),
      log,
      ...machines,
      ...shared,
    }),
    webhooks.routes({ store: audited, ...shared }),
    eventRoutes({ store: audited, ...shared }),
    ...routesOfMetrics(config, metrics),
  ]

  const { overload, stop } = parts.resolve(OVERLOAD)
  metrics.watchOverload(overload)
  const readiness = createReadiness(() => store.ping())
  const app = await createApp({
    log,
    metrics: metrics.requests,
    tracing,
    newId: sources.newId,
    ping: () => readiness.check(),
    trustedProxies: config.trustedProxies,
    certificate: options.certificate,
    routes,
    overload,
    limitRequest: (request) => identity.writeLimits.countRequest(request),
    shortcut: createPollShortcut({ ...machines, metrics: metrics.requests, overload }),
  })

  app.server.once('listening', () => jobs.forEach((each) => each.start()))

  return {
    app,
    log,
    origin: () => listeningOrigin(app.server, listen),
    address: () => boundAddress(app.server, listen).address,
    announceStop: () => readiness.announceStop(),
    replaceCertificate(certificate) {
      if (app.server instanceof TlsServer) replaceCertificate(app.server, certificate)
    },
    async close() {
      stop()
      for (const each of jobs) await each.stop()
      machines.hints?.close()
      await app.close()
      await ingestThread.close()
      await machines.close()
      await tracing?.close()
    },
  }
}

/** The same store, which the log, the metrics and the traces observe. */
function observeStore(
  store: Store,
  { log, metrics, tracing }: { log: Log; metrics: Metrics; tracing: Tracing | null },
): Store {
  const hooks = [reportSchemaChange(log), metrics.store]
  return withHooks(store, tracing === null ? hooks : [...hooks, tracing.store])
}

function watchQueues(metrics: Metrics, { passwordQueue }: Identity, { hints }: Machines): void {
  metrics.watchQueue('password', () => passwordQueue.waiting())
  metrics.watchQueue('hints', () => hints?.waiting() ?? 0)
}

function routesOfMetrics({ metrics: settings }: Config, metrics: Metrics) {
  return settings.enabled ? [metricsRoutes({ metrics, token: settings.token })] : []
}

/** Notifies the parts that act on committed changes. */
function notifyOfEvents(
  courier: { readonly wake: () => void },
  { views, hints }: Pick<Machines, 'hints' | 'views'>,
): (orgs: readonly string[]) => void {
  return (orgs) => {
    courier.wake()
    views.changed(orgs)
    hints?.changed()
  }
}
