import { revisionStatusSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import { viewRoutes, type ViewRouteDeps } from '../views/view-routes.ts'
import { accessRoutes } from './access/access-routes.ts'
import { createAccessService, type AccessServiceDeps } from './access/access-service.ts'
import { deviceAccessRoutes, type DeviceAccessRouteDeps } from './access/device-access-routes.ts'
import { breakGlassRoutes, type BreakGlassRouteDeps } from './break-glass/break-glass-routes.ts'
import { bundleRoute, type BundleRouteDeps } from './bundle-route.ts'
import { deviceRoutes, type DeviceRouteDeps } from './devices/device-routes.ts'
import { deviceTokenRoutes, type DeviceTokenRouteDeps } from './devices/device-token-routes.ts'
import { enrolmentTokenRoutes } from './enrolment/enrolment-token-routes.ts'
import type { EnrolmentTokenServiceDeps } from './enrolment/enrolment-token-service.ts'
import { hintRoutes, type HintRouteDeps } from './hint/hint-routes.ts'
import { reportRoute, type ReportRouteDeps } from './machines/report-route.ts'
import { rolloutRoutes, type RolloutRouteDeps } from './rollout/rollout-routes.ts'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { createAnswerTurns } from '../work/answer-turns.ts'
import { createRememberedCounts, type RememberedCountDeps } from './machines/remembered-counts.ts'
import {
  readRevisionStatus,
  requireRevision,
  type CountedRevision,
  type RevisionStatusDeps,
} from './machines/revision-status.ts'

export type DistributionRouteDeps = AccessServiceDeps &
  BreakGlassRouteDeps &
  BundleRouteDeps &
  Omit<DeviceAccessRouteDeps, 'service'> &
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
  const access = createAccessService(deps)
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
      ...accessRoutes(access),
      ...deviceAccessRoutes({ ...deps, service: access }),
      revisionRoute(deps),
      ...rolloutRoutes(deps),
    ])
}

interface RevisionRouteDeps
  extends Omit<RevisionStatusDeps, 'turns' | 'counts'>, RememberedCountDeps {}

/** `GET /api/v1/orgs/:org/revisions/:revision` */
function revisionRoute(deps: RevisionRouteDeps): Route {
  const turns = createAnswerTurns()
  const counts = createRememberedCounts<CountedRevision>(deps)
  return defineRoute(
    {
      method: 'GET',
      path: '/api/v1/orgs/:org/revisions/:revision',
      operationId: 'getRevisionStatus',
      tags: ['devices'],
      summary: 'Count the devices that enforce a revision, reject it, or have not reported on it',
      permission: 'policies:read',
      lookUp: (_reader, { revision }, { access }) =>
        requireRevision(revision, access.organization.revision),
      answers: { 200: revisionStatusSchema },
      errors: [429],
    },
    async ({ caller, params: { org, revision } }) =>
      readRevisionStatus({ ...deps, turns, counts }, caller, org, revision),
  )
}
