import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../operations/log/create-log.ts'
import type { RequestMetrics, RouteTally } from '../operations/metrics/request-metrics.ts'
import type { Tracing } from '../operations/tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who was admitted, such as `user:alice`; null as long as nobody was. */
    actor: string | null
    /** Of the token that his session came from; null for a password or an external issuer. */
    tokenId: string | null
    /**
     * What a request at the token endpoint came to, for its line in the log; null for every other.
     */
    signIn: object | null
  }
  interface FastifyContextConfig {
    /** Asked for so often that success is logged at `debug` only. */
    quiet?: boolean
    /** Answered when something happens, so its time is not counted. */
    waits?: boolean
    tally?: RouteTally
  }
}

/** What hears of requests. */
export interface RequestObserver {
  readonly log: Log
  readonly metrics: RequestMetrics
  /** Null while nothing is traced. */
  readonly tracing: Tracing | null
}

/**
 * Counts every request and logs it in one line when its answer is out or its client gone. A path
 * is logged as the pattern of its route: what a client put into it is his, and may be a secret.
 * To be called before routes and other hooks are registered.
 */
export function observeRequests(
  app: FastifyInstance,
  { log, metrics, tracing }: RequestObserver,
): void {
  tracing?.observeRequests(app)
  const unknown = metrics.tallyOf(null)
  app.decorateRequest('actor', null)
  app.decorateRequest('tokenId', null)
  app.decorateRequest('signIn', null)
  app.addHook('onRoute', (route) => {
    const [method = 'any'] = [route.method].flat()
    route.config = { ...route.config, tally: metrics.tallyOf({ method, pattern: route.url }) }
  })
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = performance.now()
    // Remembered by the socket, which cannot say it any more when the client is gone.
    void request.socket.remoteAddress
    // Not `finish`, which never comes when the client leaves early.
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
