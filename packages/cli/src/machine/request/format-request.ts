import type { AccessRequest, LocalAccessList } from '@palisade/protocol'
import { formatAge } from '../../terminal/age.ts'
import { createShortIds } from '../../terminal/short-ids.ts'
import type { Style } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'

/** A table of the requests, with the state of each grant on this machine. */
export function formatRequests(
  { requests, grants }: LocalAccessList,
  nowMs: number,
  style: Style,
): string {
  if (requests.length === 0) return 'no access requests\n'
  const shortId = createShortIds(
    requests.map(({ id }) => id),
    style.isWide,
  )
  return formatTable(
    ['STATE', 'ACTION', 'RESOURCES', 'ENDS', 'REASON', 'ANSWER', 'ID'],
    requests.map((request) => [
      stateOf(request, grants),
      request.action,
      request.grant?.resources ?? request.resources,
      endOf(request, nowMs),
      request.reason,
      request.answer ?? '',
      shortId(request.id),
    ]),
    style,
  )
}

/** A revoked grant does not last until its time. */
function endOf({ grant, state }: AccessRequest, nowMs: number): string {
  return grant === null || (state !== 'approved' && state !== 'expired')
    ? ''
    : formatAge(grant.expires_at, nowMs)
}

function stateOf({ id, state }: AccessRequest, grants: LocalAccessList['grants']): string {
  const here = grants.find((grant) => grant.id === id)?.state
  if (state !== 'approved' || here === undefined) return state
  return `${state}, ${here.replaceAll('_', ' ')}`
}
