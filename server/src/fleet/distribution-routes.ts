import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import { viewRoutes, type ViewRouteDeps } from '../views/view-routes.ts'
import { breakGlassRoutes, type BreakGlassRouteDeps } from './break-glass/break-glass-routes.ts'
import { bundleRoute, type BundleRouteDeps } from './bundle-route.ts'
import { deviceRoutes, type DeviceRouteDeps } from './devices/device-routes.ts'
import { deviceTokenRoutes, type DeviceTokenRouteDeps } from './devices/device-token-routes.ts'
import { enrolmentTokenRoutes } from './enrolment/enrolment-token-routes.ts'
import type { EnrolmentTokenServiceDeps } from './enrolment/enrolment-token-service.ts'
import { hintRoutes, type HintRouteDeps } from './hint/hint-routes.ts'
import { reportRoute, type ReportRouteDeps } from './machines/report-route.ts'
import { revisionRoute, type RevisionRouteDeps } from './machines/revision-route.ts'
import { rolloutRoutes, type RolloutRouteDeps } from './rollout/rollout-routes.ts'

export type DistributionRouteDeps = BreakGlassRouteDeps &
  BundleRouteDeps &
  DeviceRouteDeps &
  DeviceTokenRouteDeps &
  EnrolmentTokenServiceDeps &
  HintRouteDeps &
  ReportRouteDeps &
  RevisionRouteDeps &
  RolloutRouteDeps &
  ViewRouteDeps & { readonly authenticate: Authenticate }

/** Routes of machines: their enrolment, their administration, and the files that they fetch. */
export function distributionRoutes(deps: DistributionRouteDeps): FastifyPluginAsyncZod {
  return async (app) =>
    registerRoutes(app, deps, [
      ...enrolmentTokenRoutes(deps),
      ...deviceRoutes(deps),
      ...deviceTokenRoutes(deps),
      ...viewRoutes(deps),
      reportRoute(deps),
      ...hintRoutes(deps),
      bundleRoute(deps),
      ...breakGlassRoutes(deps),
      revisionRoute(deps),
      ...rolloutRoutes(deps),
    ])
}
