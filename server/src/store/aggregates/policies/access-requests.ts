import type { EventKind } from '@palisade/protocol'
import { defineAggregate } from '../aggregate.ts'
import { createAccessRequestReader, createAccessRequestWriter } from './access-request-rows.ts'
import type { AccessRequestRecord } from '../../access-records.ts'
import type { TeamReader } from '../people/teams.ts'
import type { AccessRequestReader, AccessRequestWriter } from './access-request-contract.ts'
import { formatAccessRequest } from './format-access-request.ts'
import type { Change, ChangeRecorder, Writes } from '../../change.ts'
import { StoreError } from '../../store-error.ts'

export const ACCESS_REQUESTS = defineAggregate({
  tables: [
    { name: 'team_approvers', key: ['org', 'team_id', 'username'] },
    { name: 'access_requests', key: ['id'] },
  ],
  reader: createAccessRequestReader,
  writer: createAccessRequestWriter,
  events: auditAccessRequests,
})

const KINDS: Readonly<Record<AccessRequestRecord['state'], EventKind>> = {
  pending: 'access.requested',
  approved: 'access.approved',
  rejected: 'access.rejected',
  revoked: 'access.revoked',
  withdrawn: 'access.withdrawn',
  expired: 'access.expired',
  lapsed: 'access.lapsed',
}

function auditAccessRequests(
  accessRequests: AccessRequestWriter,
  { record }: ChangeRecorder,
  { teams }: { readonly teams: Pick<TeamReader, 'find'> },
): Writes<AccessRequestWriter, AccessRequestReader> {
  async function ofTeam(org: string, id: string): Promise<Pick<Change, 'scope' | 'subject'>> {
    const team = await teams.find(org, id)
    return { scope: { org }, subject: { id, name: team?.name ?? null } }
  }

  return {
    async insert(request) {
      await accessRequests.insert(request)
      const after = formatAccessRequest(request)
      await record({ ...ofRequest(request), kind: KINDS[request.state], before: null, after })
    },
    async update(request, from) {
      const { org, id, state } = request
      const before = await accessRequests.find(org, id)
      if (before === null)
        throw new StoreError('ERR_STORE_NOT_FOUND', `access request \`${id}\` does not exist`)
      if (!(await accessRequests.update(request, from))) return false
      await record({
        ...ofRequest(request),
        kind: KINDS[state],
        before: { state: before.state },
        // The request has its own event, and a grant is shown whole.
        after: state === 'approved' ? formatAccessRequest(request) : formatEnd(request),
      })
      return true
    },
    async addApprover(org, teamId, username) {
      await accessRequests.addApprover(org, teamId, username)
      const change = { ...(await ofTeam(org, teamId)), kind: 'team.approver_added' as const }
      await record({ ...change, before: null, after: { username } })
    },
    async removeApprover(org, teamId, username) {
      if (!(await accessRequests.removeApprover(org, teamId, username))) return false
      const change = { ...(await ofTeam(org, teamId)), kind: 'team.approver_removed' as const }
      await record({ ...change, before: { username }, after: null })
      return true
    },
  }
}

/** An end changes nothing else: the text of a request is in the history once, and once granted. */
function formatEnd({ state, decided_at, decided_by, answer }: AccessRequestRecord) {
  return { state, decided_at, decided_by, answer }
}

function ofRequest({ org, id, username }: AccessRequestRecord) {
  return { scope: { org }, subject: { id, name: username } }
}
