import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../operations/log/create-log.ts'
import type { RequestMetrics, RouteTally } from '../operations/metrics/request-metrics.ts'
import type { Tracing } from '../operations/tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller, such as `user:alice`; null before authentication. */
    actor: string | null
    /** The secret behind the session, for limits; null before authentication. */
    credential: string | null
    /** Token that the session came from; null for a password or an external issuer. */
    tokenId: string | null
    /** Outcome of a request to the token endpoint, for the log; null for other requests. */
    signIn: object | null
  }
  interface FastifyContextConfig {
    /** For frequent requests: success is logged at `debug` only. */
    quiet?: boolean
    /** For requests that wait for an event: their duration is not measured. */
    waits?: boolean
    tally?: RouteTally
  }
}

/** Receivers of observations about requests. */
export interface RequestObserver {
  readonly log: Log
  readonly metrics: RequestMetrics
  /** Null without tracing. */
  readonly tracing: Tracing | null
}

/**
 * Counts every request and logs one line when its answer is sent or its client has left. The log
 * has the pattern of the route instead of the path, which may contain a client's secret. Must be
 * called before routes and other hooks are registered.
 */
export function observeRequests(
  app: FastifyInstance,
  { log, metrics, tracing }: RequestObserver,
): void {
  tracing?.observeRequests(app)
  const unknown = metrics.tallyOf(null)
  app.decorateRequest('actor', null)
  app.decorateRequest('credential', null)
  app.decorateRequest('tokenId', null)
  app.decorateRequest('signIn', null)
  app.addHook('onRoute', (route) => {
    const [method = 'any'] = [route.method].flat()
    route.config = { ...route.config, tally: metrics.tallyOf({ method, pattern: route.url }) }
  })
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = performance.now()
    // The first access caches the address, which the socket cannot look up after the client left.
    void request.socket.remoteAddress
    // `finish` is not emitted when the client leaves early.
    reply.raw.on('close', () => {
      const ms = performance.now() - startedMs
      const { config } = request.routeOptions
      const isAnswered = reply.raw.writableEnded
      const tally = config.tally ?? unknown
      tally.count(isAnswered ? reply.statusCode : null, config.waits === true ? null : ms / 1000)
      const isExpected = reply.statusCode < 400 || request.hasYielded
      const isQuiet = config.quiet === true && isAnswered && isExpected
      if (log.isLevelEnabled(isQuiet ? 'debug' : 'info'))
        log[isQuiet ? 'debug' : 'info'](
          { ...describe(request, reply, ms), ...traceOf(request, tracing) },
          'request',
        )
    })
    done()
  })
}

function traceOf(request: FastifyRequest, tracing: Tracing | null): object {
  const traceId = tracing?.traceIdOf(request) ?? null
  return traceId === null ? {} : { trace_id: traceId }
}

function describe(request: FastifyRequest, reply: FastifyReply, ms: number): object {
  return {
    request_id: request.id,
    method: request.method,
    route: request.is404 ? null : request.routeOptions.url,
    status: reply.statusCode,
    ...(reply.raw.writableEnded ? {} : { aborted: true }),
    duration_ms: Math.round(ms * 1000) / 1000,
    actor: request.actor,
    ...(request.tokenId === null ? {} : { token_id: request.tokenId }),
    address: request.ip ?? null,
    ...(request.signIn === null ? {} : { sign_in: request.signIn }),
  }
}
