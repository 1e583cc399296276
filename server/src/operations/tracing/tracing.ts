import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { StoreHook } from '../../store/store-hooks.ts'

/** Spans of requests and of their calls to the store. There are no spans while tracing is off. */
export interface Tracing {
  /** To be called before every other hook is registered. */
  observeRequests(app: FastifyInstance): void
  /** Each read or transaction of a request is a span below that of the request. */
  readonly store: StoreHook
  /** For the log; null when the request is not recorded. */
  traceIdOf(request: FastifyRequest): string | null
  /** Sends the remaining spans, within a few seconds, and never throws. */
  close(): Promise<void>
}
