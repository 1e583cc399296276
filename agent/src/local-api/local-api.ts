import type { Server } from 'node:http'
import { createLoopTurns } from '../http/loop-turns.ts'
import { createApiServer } from './api-server.ts'
import { createBatchRoute } from './question-routes.ts'
import { createRoutes, type RouteDeps } from './routes.ts'

export interface LocalApiDeps extends RouteDeps {
  /** Called with a bug, which is logged once and answered with 500. */
  readonly onError: (error: unknown) => void
}

const MAX_CONNECTIONS = 256

/**
 * The local decision API of `protocol/machine/local-api.ts`, not listening yet. The socket's mode
 * decides who may connect; requests are as hostile as any other input.
 */
export function createLocalApi(deps: LocalApiDeps): Server {
  const turns = createLoopTurns()
  return createApiServer({
    ...deps,
    routes: createRoutes(deps),
    batches: createBatchRoute(deps, turns),
    turns,
    maxConnections: MAX_CONNECTIONS,
  })
}
