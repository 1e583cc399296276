import type { AccessRequest, AccessReview, ReviewedAccessRequest } from '@palisade/protocol'
import { formatDuration } from '../../options/duration.ts'
import { formatAge } from '../../terminal/age.ts'
import { formatPairs } from '../../terminal/pairs.ts'
import { createShortIds } from '../../terminal/short-ids.ts'
import type { Style } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'

type Effect = AccessReview['resources'][number]['effect']

const EFFECTS: Readonly<Record<Effect, string>> = {
  opens: 'opens it',
  partly_denied: 'opens a part; a deny keeps the rest closed',
  denied: 'a deny keeps it closed',
  allowed: 'is allowed already',
  unknown: 'the policies are too large to compare',
}

export function formatAccessRequests(
  requests: readonly AccessRequest[],
  nowMs: number,
  style: Style,
): string {
  if (requests.length === 0) return 'no access requests\n'
  const shortId = createShortIds(
    requests.map(({ id }) => id),
    style.isWide,
  )
  return formatTable(
    ['USER', 'STATE', 'ACTION', 'RESOURCES', 'FOR', 'ASKED', 'ID'],
    requests.map((request) => {
      const { resources } = request.grant ?? request
      return [
        request.username,
        request.state,
        request.action,
        resources,
        formatLength(request),
        formatAge(request.created_at, nowMs),
        shortId(request.id),
      ]
    }),
    style,
  )
}

export function formatAccessRequest(
  request: AccessRequest | ReviewedAccessRequest,
  style: Style,
): string {
  const { grant, device_id, decided_by, decided_at, answer } = request
  const plain = style.plain
  const pairs: [string, string][] = [
    ['request', plain(request.id)],
    ['user', plain(request.username)],
    ['state', request.state],
    ['action', request.action],
    ['asks for', request.resources.map(plain).join(', ')],
    ['for', formatLength(request)],
    ['reason', plain(request.reason)],
    ['asked', plain(request.created_at)],
    ...pairOf('machine', device_id, style),
    ...pairOf('answered by', decided_by, style),
    ...pairOf('answered', decided_at, style),
    ...pairOf('answer', answer, style),
  ]
  if (grant !== null) {
    pairs.push(['grants', grant.resources.map(plain).join(', ')])
    pairs.push(['until', plain(grant.expires_at) + (grant.once === true ? ', once' : '')])
  }
  const review = 'review' in request ? request.review : null
  return formatPairs([...pairs, ...(review === null ? [] : pairsOfReview(review, style))], style)
}

function formatLength({ duration_seconds, once }: AccessRequest): string {
  return formatDuration(duration_seconds) + (once ? ', once' : '')
}

function pairOf(name: string, value: string | null, style: Style): [string, string][] {
  return value === null ? [] : [[name, style.plain(value)]]
}

function pairsOfReview(
  { resources, findings, recorded }: AccessReview,
  style: Style,
): [string, string][] {
  const { requests, last_at, complete } = recorded
  const last = last_at === null ? '' : `, the last at ${style.plain(last_at)}`
  const part = complete ? '' : ' among the newest records'
  return [
    ...resources.map(({ resource, effect }): [string, string] => [
      'effect',
      `${style.plain(resource)}: ${EFFECTS[effect]}`,
    ]),
    ...findings.map(({ severity, message, mend }): [string, string] => [
      severity,
      style.plain(`${message}; ${mend}`),
    ]),
    ['recorded denials', `${requests}${part}${last}`],
  ]
}
