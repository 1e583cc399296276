import type { EventKind } from '@palisade/protocol'
import { missingPermissions, permissionsOf } from '../roles.ts'
import { limitExceeded } from '../../platform/api-error.ts'
import type { Author } from '../../history/author.ts'
import type { RequireHistoryRoom } from '../../history/change-log.ts'
import type { Change, ChangeState } from '../../store/change.ts'

const MIB = 1024 * 1024
/** Additional room for security responses, as a share of the quota. */
const RESERVE = 1 / 4

/**
 * How a change is treated once the events of an organization fill its quota.
 * `reduction`: a change that ends something. It is always allowed: the number of reductions is
 * finite, because changes that create things are refused. Password changes have a rate limit.
 * `response`: a change that answers an attack but can be repeated. It may use the reserve.
 * `ordinary`: any other change. It is refused.
 */
type Need = 'reduction' | 'response' | 'ordinary'

const REDUCTIONS: ReadonlySet<EventKind> = new Set<EventKind>([
  'user.password_changed',
  'user.sessions_ended',
  'member.removed',
  'invitation.ended',
  'team.deleted',
  'team.member_removed',
  'team.approver_removed',
  'access.rejected',
  'access.revoked',
  'access.withdrawn',
  'policy.deleted',
  'rule.deleted',
  'access_token.revoked',
  'enrolment_token.revoked',
  'device.revoked',
  'webhook.deleted',
  'history.pruned',
])

const RESPONSES: ReadonlySet<EventKind> = new Set<EventKind>([
  'organization.updated',
  'policy.created',
  'policy.updated',
  'policy.rules_reordered',
  'break_glass.issued',
  'rollout.advanced',
  'rollout.paused',
  'rollout.resumed',
  'webhook.secret_rotated',
])

/** The end of a rollout. It may change policies in any direction, and is always allowed. */
const ENDS_OF_ROLLOUTS: ReadonlySet<EventKind> = new Set<EventKind>([
  'rollout.finished',
  'rollout.rolled_back',
])

/**
 * A `maxMib` of 0 means no quota. The last transaction may exceed the quota by its own events.
 */
export function createHistoryQuota(maxMib: number): RequireHistoryRoom {
  const quota = maxMib * MIB
  return async ({ events }, org, { author, changes }) => {
    if (quota === 0 || org === null || !isCaller(author)) return
    const bytes = await events.bytes(org)
    if (bytes < quota) return
    const need = needOf(changes)
    if (need === 'reduction' || (need === 'response' && bytes < quota * (1 + RESERVE))) return
    throw limitExceeded(
      `the history of \`${org}\` has reached its limit of ${maxMib} MiB; ask the operator of the ` +
        'server to remove old events with `palisade-server history prune` or ' +
        '`PALISADE_HISTORY_DAYS`, or to raise `PALISADE_MAX_HISTORY_MIB`; ' +
        'revoking, removing and denying still work',
    )
  }
}

/** Whether the author is a caller of the API: not the server, its operator or an issuer. */
export function isCaller({ actor }: Author): boolean {
  return (
    actor.startsWith('user:') || actor.startsWith('organization:') || actor.startsWith('enrolment:')
  )
}

/** The need of changes that are made together. */
export function needOf(changes: readonly Change[]): Need {
  if (changes.some(({ kind }) => ENDS_OF_ROLLOUTS.has(kind))) return 'reduction'
  let need: Need = 'reduction'
  for (const change of changes) {
    if (REDUCTIONS.has(change.kind) || isLowerRole(change)) continue
    if (!RESPONSES.has(change.kind) && !isTighterRule(change)) return 'ordinary'
    need = 'response'
  }
  return need
}

/** Whether the new role has a proper subset of the permissions. */
function isLowerRole({ kind, before, after }: Change): boolean {
  if (kind !== 'member.role_changed') return false
  const [had, has] = [roleOf(before), roleOf(after)]
  return had !== has && missingPermissions(has, had).length === 0
}

function roleOf(state: ChangeState | null) {
  const role = state !== null && 'role' in state ? state.role : null
  const isRole = role === 'owner' || role === 'editor' || role === 'auditor' || role === 'member'
  return permissionsOf(isRole ? role : 'member')
}

/** Whether the rule denies, or allows less than before the change. */
function isTighterRule({ kind, before, after }: Change): boolean {
  if (kind !== 'rule.created' && kind !== 'rule.updated') return false
  if (decisionOf(after) === 'deny') return true
  return (
    decisionOf(before) === 'allow' &&
    isWithin(after, before, 'actions') &&
    isWithin(after, before, 'resources')
  )
}

function decisionOf(state: ChangeState | null): unknown {
  return state !== null && 'decision' in state ? state.decision : null
}

function isWithin(
  after: ChangeState | null,
  before: ChangeState | null,
  member: 'actions' | 'resources',
): boolean {
  const kept = new Set(listOf(before, member))
  return listOf(after, member).every((entry) => kept.has(entry))
}

function listOf(state: ChangeState | null, member: 'actions' | 'resources'): readonly unknown[] {
  const list: unknown = state === null ? undefined : Reflect.get(state, member)
  return Array.isArray(list) ? list : []
}
