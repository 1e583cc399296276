import { revisionStatusSchema } from '@palisade/protocol'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createAnswerTurns } from '../../operations/overload/answer-turns.ts'
import { createRememberedCounts, type RememberedCountDeps } from './remembered-counts.ts'
import {
  readRevisionStatus,
  requireRevision,
  type CountedRevision,
  type RevisionStatusDeps,
} from './revision-status.ts'

export interface RevisionRouteDeps
  extends Omit<RevisionStatusDeps, 'turns' | 'counts'>, RememberedCountDeps {}

/** `GET /api/v1/orgs/:org/revisions/:revision` */
export function revisionRoute(deps: RevisionRouteDeps): Route {
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
