import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { breakGlassRoutes, type BreakGlassRouteDeps } from './break-glass/break-glass-routes.ts'
import { deviceRoutes, type DeviceRouteDeps } from './devices/device-routes.ts'
import { deviceTokenRoutes, type DeviceTokenRouteDeps } from './devices/device-token-routes.ts'
import { reportRoutes, type ReportRouteDeps } from './machines/report-routes.ts'
import { revisionRoutes, type RevisionRouteDeps } from './machines/revision-routes.ts'
import { rolloutRoutes, type RolloutRouteDeps } from './rollout/rollout-routes.ts'
import { bundleRoutes, type BundleRouteDeps } from './bundle-routes.ts'
import { hintRoutes, type HintRouteDeps } from './hint/hint-routes.ts'
import { viewRoutes, type ViewRouteDeps } from '../views/view-routes.ts'

export type DistributionRouteDeps = BreakGlassRouteDeps &
  BundleRouteDeps &
  DeviceRouteDeps &
  DeviceTokenRouteDeps &
  HintRouteDeps &
  ReportRouteDeps &
  RevisionRouteDeps &
  RolloutRouteDeps &
  ViewRouteDeps

/** Machines: how they are enrolled and administered, and what they fetch. */
export function distributionRoutes(deps: DistributionRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    await app.register(deviceRoutes(deps))
    await app.register(deviceTokenRoutes(deps))
    await app.register(viewRoutes(deps))
    await app.register(reportRoutes(deps))
    await app.register(hintRoutes(deps))
    await app.register(bundleRoutes(deps))
    await app.register(breakGlassRoutes(deps))
    await app.register(revisionRoutes(deps))
    await app.register(rolloutRoutes(deps))
  }
}
