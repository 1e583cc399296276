import type { FastifyInstance } from 'fastify'
import { overloaded, type Overload, type Yielding } from './overload.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Turned away while the server was overloaded. */
    hasYielded: boolean
  }
  interface FastifyContextConfig {
    /** For requests of machines, which can wait while the server is overloaded. */
    yields?: Yielding
  }
}

/**
 * Turns away the routes that say `yields`, before anything is looked at. To be called before them.
 */
export function yieldRequests(app: FastifyInstance, overload: Pick<Overload, 'askToWait'>): void {
  app.decorateRequest('hasYielded', false)
  app.addHook('onRequest', (request, _reply, done) => {
    const { yields } = request.routeOptions.config
    const seconds = yields === undefined ? null : overload.askToWait(yields)
    request.hasYielded = seconds !== null
    done(seconds === null ? undefined : overloaded(seconds))
  })
}
