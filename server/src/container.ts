// tsyringe refuses to load without `Reflect.getMetadata`, so this import stays first.
import '@abraham/reflection'
import type { FastifyInstance } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import {
  container as root,
  instanceCachingFactory,
  type DependencyContainer,
  type InjectionToken,
} from 'tsyringe'
import { adminRoutes } from './organizations/admin-routes.ts'
import { createAuthenticator, type Authenticate } from './identity/authenticate.ts'
import type { SessionTokens } from './identity/oidc/external-sessions.ts'
import { openSessionTokens, type SessionTokenDeps } from './identity/oidc/open-session-tokens.ts'
import { createWriteLimits, type WriteLimits } from './identity/limits/write-limits.ts'
import { createSignInJournal, type SignInJournal } from './identity/sign-in/sign-in-journal.ts'
import { createPasswordQueue, type PasswordQueue } from './identity/sign-in/password-queue.ts'
import { createPasswordProof, type ProvePassword } from './identity/sign-in/prove-password.ts'
import { createSignInLimits, type SignInLimits } from './identity/sign-in/sign-in-limits.ts'
import { tokenRoutes } from './identity/token-routes.ts'
import { createTokenUse, notingUse, type TokenUse } from './identity/token-use.ts'
import type { Config } from './config/config.ts'
import { distributionRoutes } from './fleet/distribution-routes.ts'
import { openMachines, type Machines } from './fleet/open-machines.ts'
import { openRolloutWatch } from './fleet/rollout/open-rollout-watch.ts'
import { createPollShortcut } from './views/poll-shortcut.ts'
import { governanceRoutes } from './governance/governance-routes.ts'
import { loadPageTokenKey } from './http/input/page-token.ts'
import { createHistoryQuota } from './identity/limits/history-quota.ts'
import { createAnswerExpiry } from './identity/idempotency/forget-answers.ts'
import { createHistoryRetention } from './operations/storage/retention.ts'
import { createAuditedStore } from './history/audit/audited-store.ts'
import { eventRoutes } from './events/event-routes.ts'
import { conflict } from './platform/api-error.ts'
import { createApp } from './http/create-app.ts'
import { createReadiness } from './http/readiness.ts'
import { createLog, type Log, type LogSettings } from './operations/log/create-log.ts'
import { reportSchemaChange } from './operations/log/report-schema-change.ts'
import { createMetrics, type Metrics } from './operations/metrics/create-metrics.ts'
import { metricsRoutes } from './http/metrics-routes.ts'
import { observeIssuer } from './identity/tokens/observe-issuer.ts'
import { formatOrigin, isEveryAddress } from './platform/origin.ts'
import { takeTurnsWriting } from './operations/overload/take-turns-writing.ts'
import { createWorkBudget } from './operations/overload/work-budget.ts'
import { watchOverload, type WatchedOverload } from './operations/overload/watch-overload.ts'
import type { Sources } from './platform/sources.ts'
import type { Store } from './store/store.ts'
import type { Certificate } from './operations/tls/certificate.ts'
import { replaceCertificate } from './operations/tls/listener.ts'
import {
  createAccessTokenIssuer,
  type AccessTokenIssuer,
} from './identity/tokens/access-token-jwt.ts'
import { createAccessTokenKeys } from './identity/tokens/access-token-keys.ts'
import { createRevocationFinish } from './identity/tokens/finish-revocations.ts'
import { ensureSigningKeys } from './identity/tokens/signing-keys.ts'
import { openTracing } from './operations/tracing/open-tracing.ts'
import { readVersion } from './platform/version.ts'
import { createWebhooks } from './webhooks/create-webhooks.ts'

type ServerAddress = Pick<AddressInfo, 'address' | 'port'>

/** The server, ready to listen. */
export interface Server {
  readonly app: FastifyInstance
  readonly log: Log
  /** Where it listens, or will; with port 0 known only once it does. */
  origin(): string
  /** The IP address that it listens on, or the configured host before it does. */
  address(): string
  /** From now on `/readyz` answers 503; everything else is served as before. */
  announceStop(): void
  /** Shows another certificate from the next handshake on; only with TLS. */
  replaceCertificate(certificate: Certificate): void
  /** Takes no more connections and lets running requests finish. */
  close(): Promise<void>
}

export interface ServerOptions {
  readonly config: Config
  readonly sources: Sources
  /** Stays the caller's; to be closed after the server. */
  readonly store: Store
  readonly logger: LogSettings | false
  /** For TLS; plain HTTP without it. */
  readonly certificate?: Certificate | undefined
  /** In place of what the event loop says. */
  readonly overload?: WatchedOverload | undefined
}

const ACCESS_TOKENS = token<AccessTokenIssuer>('AccessTokenIssuer')
const SESSION_TOKENS = token<SessionTokens>('SessionTokens')
const AUTHENTICATE = token<Authenticate>('Authenticate')
const PASSWORD_QUEUE = token<PasswordQueue>('PasswordQueue')
const WRITE_LIMITS = token<WriteLimits>('WriteLimits')
const SIGN_IN_LIMITS = token<SignInLimits>('SignInLimits')
const SIGN_IN_JOURNAL = token<SignInJournal>('SignInJournal')
const PROVE_PASSWORD = token<ProvePassword>('ProvePassword')
const TOKEN_USE = token<TokenUse>('TokenUse')
const ROUTES = token<readonly FastifyPluginAsyncZod[]>('Routes')

/** Puts the server together. What needs waiting for is made first and registered as a value. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { config, sources } = options
  const log = createLog(options.logger)
  const metrics = createMetrics({ version: readVersion() })
  const tracing = await openTracing(config.tracing, log)
  const shared = takeTurnsWriting(options.store)
  const counted = metrics.observeStore(reportSchemaChange(shared, log))
  const store = tracing === null ? counted : tracing.observeStore(counted)
  await ensureSigningKeys(store, 'access_token', sources.now)

  const pageTokenKey = await loadPageTokenKey(store, sources.random)
  const webhooks = createWebhooks({ store, networks: config.webhookNetworks, log, sources })
  const machines = await openMachines({ settings: config, store, log, sources })
  const { views, hints } = machines
  const onEvents = tellOfEvents(webhooks.courier, views, hints)
  const requireRoom = createHistoryQuota(config.maxHistoryMib)
  const audited = createAuditedStore({ store, ...sources, requireRoom, onEvents })
  const policies = { limits: config.limits, budget: createWorkBudget(), pageTokenKey }
  const work = [
    webhooks.courier,
    openRolloutWatch({ store, audited, views, sources, log }),
    createHistoryRetention({
      store: audited,
      days: config.historyDays,
      maxMib: config.maxHistoryMib,
      log,
      ...sources,
    }),
    createAnswerExpiry({ store, log, ...sources }),
    createRevocationFinish({ store: audited, log }),
  ]

  const container = root.createChildContainer()
  registerAuthentication(container, config, { store, audited, metrics, log, sources })
  container.register(ROUTES, {
    useFactory: instanceCachingFactory((c) => {
      const guards = { ...guardsOf(c), quotas: config.quotas }
      return [
        governanceRoutes({ store: audited, ...guards, ...policies, ...sources }),
        tokenRoutes({
          store,
          ...guards,
          observeSignIn: metrics.observeSignIn,
          journal: c.resolve(SIGN_IN_JOURNAL),
          tokenUse: c.resolve(TOKEN_USE),
          accessTokens: c.resolve(ACCESS_TOKENS),
          accessTokenMinutes: config.accessTokenMinutes,
          ...sources,
        }),
        adminRoutes({ store: audited, ...guards, pageTokenKey, ...sources }),
        distributionRoutes({
          store: audited,
          ...guards,
          ...machines,
          publicUrl: () => config.publicUrl ?? reachableOrigin(app, options),
          ...policies,
          ...sources,
        }),
        webhooks.routes({ store: audited, ...guards, budget: policies.budget, pageTokenKey }),
        eventRoutes({ store: audited, ...guards, budget: policies.budget, pageTokenKey }),
        ...routesOfMetrics(config, metrics),
      ]
    }),
  })

  watchQueues(metrics, { password: container.resolve(PASSWORD_QUEUE), hints })
  const { overload, stop } = openOverload(options, log, metrics)
  const readiness = createReadiness(() => store.ping())
  const app = await createApp({
    log,
    metrics: metrics.requests,
    tracing,
    random: sources.random,
    ping: () => readiness.check(),
    trustedProxies: config.trustedProxies,
    certificate: options.certificate,
    routes: container.resolve(ROUTES),
    overload,
    limitRequest: (request) => container.resolve(WRITE_LIMITS).countRequest(request),
    shortcut: createPollShortcut({ views, metrics: metrics.requests, overload }),
  })

  app.server.once('listening', () => work.forEach((each) => each.start()))

  return {
    app,
    log,
    origin: () => originOf(app, options),
    address: () => boundOf(app, options).address,
    announceStop: () => readiness.announceStop(),
    replaceCertificate(certificate) {
      if (app.server instanceof TlsServer) replaceCertificate(app.server, certificate)
    },
    async close() {
      stop()
      for (const each of work) await each.stop()
      machines.hints?.close()
      await app.close()
      await machines.close()
      await tracing?.close()
    },
  }
}

/** Who may call, and how often. */
function guardsOf(container: DependencyContainer) {
  return {
    authenticate: container.resolve(AUTHENTICATE),
    signInLimits: container.resolve(SIGN_IN_LIMITS),
    writeLimits: container.resolve(WRITE_LIMITS),
    provePassword: container.resolve(PROVE_PASSWORD),
    passwordQueue: container.resolve(PASSWORD_QUEUE),
  }
}

function watchQueues(
  metrics: Metrics,
  { password, hints }: { readonly password: PasswordQueue } & Pick<Machines, 'hints'>,
): void {
  metrics.watchQueue('password', () => password.waiting())
  metrics.watchQueue('hints', () => hints?.waiting() ?? 0)
}

function routesOfMetrics({ metrics: settings }: Config, metrics: Metrics) {
  return settings.enabled ? [metricsRoutes({ metrics, token: settings.token })] : []
}

function openOverload(options: ServerOptions, log: Log, metrics: Metrics): WatchedOverload {
  const limitMs = options.config.overloadDelayMs
  const watched = options.overload ?? watchOverload({ limitMs, log, random: Math.random })
  metrics.watchOverload(watched.overload)
  return watched
}

/** Who does something once a change was committed. */
function tellOfEvents(
  courier: { readonly wake: () => void },
  views: { readonly changed: (orgs: readonly string[]) => void },
  hints: { readonly changed: () => void } | null,
): (orgs: readonly string[]) => void {
  return (orgs) => {
    courier.wake()
    views.changed(orgs)
    hints?.changed()
  }
}

function originOf(app: FastifyInstance, options: ServerOptions): string {
  const { address, port } = boundOf(app, options)
  // A name says more than its address; one that stands for every address says nothing.
  const host = isEveryAddress(address) ? address : options.config.host
  return formatOrigin(options.certificate === undefined ? 'http' : 'https', host, port)
}

/** The origin that machines are told. Throws ApiError where only the operator knows it. */
function reachableOrigin(app: FastifyInstance, options: ServerOptions): string {
  if (isEveryAddress(boundOf(app, options).address))
    throw conflict(
      'this server does not know under which origin machines reach it; its operator sets `PALISADE_PUBLIC_URL`',
    )
  return originOf(app, options)
}

function boundOf(app: FastifyInstance, { config }: ServerOptions): ServerAddress {
  const bound = app.server.address()
  return typeof bound === 'object' && bound !== null
    ? bound
    : { address: config.host, port: config.port }
}

/** Who calls: from the secret that somebody signs in with to the principal of a request. */
function registerAuthentication(
  container: DependencyContainer,
  { oidc, writeRates }: Config,
  deps: Omit<SessionTokenDeps, 'oidc'> & { readonly store: Store; readonly metrics: Metrics },
): void {
  const { store, metrics, sources } = deps
  container.register(ACCESS_TOKENS, {
    useValue: observeIssuer(
      createAccessTokenIssuer({ keys: createAccessTokenKeys({ store, ...sources }), ...sources }),
      metrics,
    ),
  })
  container.register(PASSWORD_QUEUE, {
    useFactory: instanceCachingFactory(() => createPasswordQueue()),
  })
  container.register(WRITE_LIMITS, { useValue: createWriteLimits(writeRates, sources.monotonicMs) })
  container.register(SIGN_IN_LIMITS, {
    useFactory: instanceCachingFactory(() => createSignInLimits(sources.monotonicMs)),
  })
  container.register(SIGN_IN_JOURNAL, {
    useFactory: instanceCachingFactory(() =>
      createSignInJournal({ store: deps.audited, log: deps.log, ...sources }),
    ),
  })
  container.register(PROVE_PASSWORD, {
    useFactory: instanceCachingFactory((c) =>
      createPasswordProof({
        store: deps.audited,
        journal: c.resolve(SIGN_IN_JOURNAL),
        signInLimits: c.resolve(SIGN_IN_LIMITS),
        passwordQueue: c.resolve(PASSWORD_QUEUE),
        ...sources,
      }),
    ),
  })
  container.register(TOKEN_USE, {
    useFactory: instanceCachingFactory(() => createTokenUse({ store, ...sources })),
  })
  container.register(SESSION_TOKENS, {
    useFactory: instanceCachingFactory((c) =>
      openSessionTokens({ oidc, ...deps }, c.resolve(ACCESS_TOKENS)),
    ),
  })
  container.register(AUTHENTICATE, {
    useFactory: instanceCachingFactory((c) =>
      notingUse(
        createAuthenticator({ store, accessTokens: c.resolve(SESSION_TOKENS), ...sources }),
        c.resolve(TOKEN_USE),
      ),
    ),
  })
}

/** Binds the type of a value to its token; a bare `Symbol()` would accept any. */
function token<T>(name: string): InjectionToken<T> {
  return Symbol(name)
}
