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
import { composeRooms } from './compose-rooms.ts'
import type { Config } from './config/config.ts'
import type { EvidenceStore } from './evidence/store/evidence-store.ts'
import { createPollShortcut } from './views/poll-shortcut.ts'
import { createApp } from './http/create-app.ts'
import { boundAddress, listeningOrigin, type ListenSettings } from './http/listening-address.ts'
import { createReadiness } from './http/readiness.ts'
import { createLog, type Log, type LogSettings } from './operations/log/create-log.ts'
import { reportSchemaChange } from './operations/log/report-schema-change.ts'
import { createMetrics } from './operations/metrics/create-metrics.ts'
import { metricsRoutes } from './http/metrics-routes.ts'
import { watchOverload, type WatchedOverload } from './operations/overload/watch-overload.ts'
import type { Sources } from './platform/sources.ts'
import { startThread, type StartWorker } from './platform/start-worker.ts'
import { withHooks } from './store/store-hooks.ts'
import type { Store } from './store/store.ts'
import type { Certificate } from './operations/tls/certificate.ts'
import { replaceCertificate } from './operations/tls/listener.ts'
import { ensureSigningKeys } from './identity/tokens/ensure-signing-keys.ts'
import { openTracing } from './operations/tracing/open-tracing.ts'
import { readVersion } from './platform/version.ts'
import { startProcess } from './work/start-process.ts'

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

/** Composes the server, from the store up to the routes. */
export async function createServer(
  options: ServerOptions,
  parts: DependencyContainer = createParts(options),
): Promise<Server> {
  const { config, sources, evidence, certificate } = options
  const { host, port, trustedProxies } = config
  const scheme = certificate === undefined ? 'http' : 'https'
  const listen: ListenSettings = { host, port, scheme }
  const log = parts.resolve(LOG)
  const metrics = createMetrics({ version: readVersion() })
  const tracing = await openTracing(config.tracing, log)
  const traces = tracing?.store ?? (() => null)
  const store = withHooks(options.store, [reportSchemaChange(log), metrics.store, traces])
  await ensureSigningKeys(store, 'access_token', sources.now)
  const rooms = await composeRooms({
    config,
    listen,
    store,
    evidence,
    metrics,
    log,
    startWorker: parts.resolve(START_WORKER),
    startProcess: parts.resolve(START_PROCESS),
    sources,
  })

  const { overload, stop } = parts.resolve(OVERLOAD)
  metrics.watchOverload(overload)
  const readiness = createReadiness(() => store.ping())
  const app = await createApp({
    log,
    metrics: metrics.requests,
    tracing,
    newId: sources.newId,
    ping: () => readiness.check(),
    trustedProxies,
    certificate,
    routes: rooms.routes.concat(metricsRoutes({ metrics, settings: config.metrics })),
    overload,
    limitRequest: (request) => rooms.writeLimits.countRequest(request),
    shortcut: createPollShortcut({ views: rooms.views, metrics: metrics.requests, overload }),
  })
  app.server.once('listening', () => rooms.jobs.forEach((each) => each.start()))

  return {
    app,
    log,
    origin: () => listeningOrigin(app.server, listen),
    address: () => boundAddress(app.server, listen).address,
    announceStop: () => readiness.announceStop(),
    replaceCertificate(renewed) {
      if (app.server instanceof TlsServer) replaceCertificate(app.server, renewed)
    },
    async close() {
      stop()
      for (const each of rooms.jobs) await each.stop()
      rooms.hints?.close()
      await app.close()
      await rooms.close()
      await tracing?.close()
    },
  }
}
