import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { errorResponses, refusals } from './errors/error-responses.ts'

const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })

/** `/healthz`: the process answers. `/readyz`: the store too, with all its tables; else 503. */
export function registerHealthRoutes(app: FastifyInstance, ping: () => Promise<void>): void {
  app.get(
    '/healthz',
    {
      config: { quiet: true },
      schema: {
        operationId: 'getHealth',
        tags: ['health'],
        summary: 'Liveness of the process',
        security: [],
        response: { 200: healthSchema, ...refusals([400]) },
      },
    },
    async () => ({ status: 'ok' }),
  )
  app.get(
    '/readyz',
    {
      config: { quiet: true },
      schema: {
        operationId: 'getReadiness',
        tags: ['health'],
        summary: 'Readiness to serve requests',
        security: [],
        response: { 200: healthSchema, ...errorResponses([400]) },
      },
    },
    async () => {
      await ping()
      return { status: 'ok' }
    },
  )
}
