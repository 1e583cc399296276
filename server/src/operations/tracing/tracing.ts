import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Store } from '../../store/store.ts'

/** Spans of requests and of what they ask the store for. There is none while tracing is off. */
export interface Tracing {
  /** To be called before every other hook is registered. */
  observeRequests(app: FastifyInstance): void
  /** The same store; what a request asks of it is a span below that of the request. */
  observeStore(store: Store): Store
  /** For the log; null when the request is not recorded. */
  traceIdOf(request: FastifyRequest): string | null
  /** Sends what is left, within a few seconds, and never throws. */
  close(): Promise<void>
}
