import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { serializerCompiler, type FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Log } from '../operations/log/create-log.ts'
import type { RequestMetrics } from '../operations/metrics/request-metrics.ts'
import { UNLIMITED, type Overload } from '../operations/overload/overload.ts'
import { createRequestsInFlight } from '../work/requests-in-flight.ts'
import { yieldRequests } from '../operations/overload/yield-requests.ts'
import type { Certificate } from '../operations/tls/certificate.ts'
import { createTlsServer } from '../operations/tls/listener.ts'
import type { Tracing } from '../operations/tracing/tracing.ts'
import { invalidArgument, type ApiError } from '../platform/api-error.ts'
import { registerOpenapiRoutes } from './openapi/openapi-routes.ts'
import { endsSomething } from './ends-something.ts'
import { errorResponses } from './errors/error-responses.ts'
import { registerHealthRoutes } from './health-routes.ts'
import { observeRequests } from './observe-requests.ts'
import { createClientErrorHandler, refuseUnsupported } from './errors/parser-errors.ts'
import { limitPipelining } from './pipelining.ts'
import { MAX_BODY_BYTES } from './body/raw-body.ts'
import { parseQuery } from './input/read-query.ts'
import { registerBodies } from './body/register-bodies.ts'
import { createRequestIds } from './request-id.ts'
import { securityHeaders, type SecurityHeaders } from './security-headers.ts'
import { withShortcut, type Shortcut } from './shortcut.ts'
import { createErrorHandler } from './errors/send-error.ts'
import {
  hasForwardedAddresses,
  requireForwardedAddress,
  trustProxyOption,
  type TrustedProxies,
} from './trusted-proxies.ts'
import { closeAfterUnreadBody, continueWhenRead } from './body/unread-body.ts'
import { registerUnrouted } from './errors/unrouted.ts'
import { strictValidator } from './input/validation.ts'

export interface AppDeps {
  readonly log: Log
  readonly metrics: RequestMetrics
  readonly tracing?: Tracing | null
  /** A new UUID. */
  readonly newId: () => string
  /** Check behind `/readyz`; throws while the store does not answer. */
  readonly ping: () => Promise<void>
  readonly trustedProxies: TrustedProxies
  /** Enables TLS; plain HTTP without it. */
  readonly certificate?: Certificate | undefined
  /** Asked for every request that may be deferred; without it no request is. */
  readonly overload?: Pick<Overload, 'askToWait'>
  /** Called after authentication and before the body is read; throws a refusal. */
  readonly limitRequest?: (request: FastifyRequest) => void
  /** Tried before Fastify, except while requests are traced. */
  readonly shortcut?: Shortcut
  /** The endpoints of the rooms, in the order of the OpenAPI document. */
  readonly routes: readonly FastifyPluginAsyncZod[]
}

/** A longer path parameter is 404. Names have at most 127 characters. */
const MAX_PARAM_LENGTH = 512
const REQUEST_TIMEOUT_MS = 60_000
/** Longer than the idle timeout of common proxies, so that the proxy is the side that closes. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** Closes a stalled connection; longer than the request timeout, so that slow requests get 408. */
const STALLED_TIMEOUT_MS = 2 * REQUEST_TIMEOUT_MS

/**
 * Creates the HTTP application, ready to `listen` or `inject`: request ids, constant headers,
 * strict bodies, one error envelope and the documents around the given routes.
 *
 * `strictValidator` validates bodies and queries before the handlers, unless a route sets
 * `validatorCompiler: deferredValidator`. Routes must therefore authenticate in `onRequest`.
 *
 * Hooks of every request take a callback, because a promise costs as much as the routing.
 */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const newRequestId = createRequestIds(deps.newId)
  const observer = { log: deps.log, metrics: deps.metrics, tracing: deps.tracing ?? null }
  const constant = securityHeaders({ hasTls: deps.certificate !== undefined })
  const sendError = createErrorHandler(deps.log, constant)
  const closing = { hasBegun: false }
  const addShortcut = (framework: RequestListener): RequestListener =>
    deps.shortcut === undefined || observer.tracing !== null
      ? framework
      : withShortcut(framework, {
          shortcut: deps.shortcut,
          newRequestId,
          constant,
          isOpen: (request) =>
            !closing.hasBegun &&
            !deps.log.isLevelEnabled('debug') &&
            hasForwardedAddresses(request, deps.trustedProxies),
        })
  const app = Fastify({
    // `observeRequests` logs requests; Fastify would create a logger for each of them.
    logger: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    trustProxy: trustProxyOption(deps.trustedProxies),
    bodyLimit: MAX_BODY_BYTES,
    // Requests that arrive while closing are served; Fastify's own 503 lacks the envelope.
    return503OnClosing: false,
    clientErrorHandler: createClientErrorHandler(newRequestId, observer, constant),
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
    // Keeps Fastify from loading its own compilers, 120 files, for which there are no schemas.
    schemaController: {
      compilersFactory: {
        // Fastify types compilers for its own kind of schema only.
        buildValidator: (() => strictValidator) as never,
        buildSerializer: (() => serializerCompiler) as never,
      },
    },
    serverFactory: (handler) =>
      createListener(deps.certificate, closeAfterUnreadBody(addShortcut(handler))),
    routerOptions: {
      maxParamLength: MAX_PARAM_LENGTH,
      querystringParser: (text) => parseQuery(text) as unknown as Record<string, unknown>,
    },
  })
  refuseUnsupported(app.server, newRequestId, observer, constant)
  continueWhenRead(app.server)
  app.setValidatorCompiler(strictValidator)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(sendError)
  observeRequests(app, observer)
  limitPipelining(app)
  registerHeaders(app, constant)
  yieldRequests(app, deps.overload ?? UNLIMITED)
  requireForwardedAddress(app, deps.trustedProxies)
  registerUnrouted(app)
  limitInFlight(app)
  registerBodies(app)
  registerLimit(app, deps.limitRequest)
  registerShutdown(app, closing)

  registerOpenapiRoutes(app)
  registerHealthRoutes(app, deps.ping)
  for (const routes of deps.routes) await app.register(routes)
  await app.ready()
  return app
}

function createListener(certificate: Certificate | undefined, handler: RequestListener): Server {
  const options = {
    // Node would refuse a missing `Host` without the envelope; `registerHeaders` does so instead.
    requireHostHeader: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  }
  const server =
    certificate === undefined
      ? createServer(options, handler)
      : createTlsServer(certificate, options, handler)
  return server.setTimeout(STALLED_TIMEOUT_MS)
}

function registerHeaders(app: FastifyInstance, constant: SecurityHeaders): void {
  const entries = Object.entries(constant)
  app.addHook('onRequest', (request, reply, done) => {
    for (const [name, value] of entries) reply.header(name, value)
    reply.header('x-request-id', request.id)
    done(refusalOfHosts(request.raw) ?? undefined)
  })
}

/** Refuses a missing or repeated `Host`: Node keeps the first, a proxy may have used the last. */
function refusalOfHosts({ httpVersion, rawHeaders }: IncomingMessage): ApiError | null {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 'host'.length && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) return invalidArgument('the `Host` header must not be repeated')
  if (hosts === 0 && httpVersion === '1.1') return invalidArgument('the `Host` header is missing')
  return null
}

/**
 * Limits by credential, which may have any number of sessions, and before the body is read. By
 * person, slow requests of a stolen token would keep its owner from revoking it.
 */
function limitInFlight(app: FastifyInstance): void {
  const inFlight = createRequestsInFlight()
  app.addHook('preParsing', ({ credential }, { raw }, payload, done) => {
    if (credential === null) {
      done(null, payload)
      return
    }
    const leave = inFlight.enter(credential, () => done(null, payload))
    raw.on('close', leave)
  })
}

function registerLimit(app: FastifyInstance, limitRequest: AppDeps['limitRequest']): void {
  if (limitRequest === undefined) return
  app.addHook('onRoute', (route) => {
    const isRead = [route.method].flat().some((method) => method === 'GET' || method === 'HEAD')
    const { response, security } = route.schema ?? {}
    // Anonymous callers and machines have limits of their own.
    if (
      isRead ||
      endsSomething(route) ||
      security !== undefined ||
      typeof response !== 'object' ||
      response === null
    )
      return
    route.schema = { ...route.schema, response: { ...errorResponses([429]), ...response } }
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    limitRequest(request)
    done(null, payload)
  })
}

/** Ends connections after their next answer; one in use would delay closing until it idles out. */
function registerShutdown(app: FastifyInstance, closing: { hasBegun: boolean }): void {
  app.addHook('preClose', async () => {
    closing.hasBegun = true
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing.hasBegun) reply.header('connection', 'close')
    done(null, payload)
  })
}
