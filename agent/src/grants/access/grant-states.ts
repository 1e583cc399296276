import { parseInstant } from '@palisade/policy-core'
import type { AccessGrant, GrantStatus } from '@palisade/protocol'
import type { AgentLog } from '../../host/agent-log.ts'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import type { SpentGrants } from './spent-grants.ts'

/** Grants that the server ended before their time; the earliest make room. */
const MAX_REVOKED = 20

/** The access grants of this machine as people see them. */
export interface GrantStates {
  /** The grants of the bundle, then those that were revoked since the start. */
  list(): readonly GrantStatus[]
}

/** Follows the grants and logs each change of their states. */
export function followGrants(deps: {
  readonly active: Pick<ActivePolicy, 'current' | 'enforced' | 'now' | 'subscribe'>
  readonly spent: Pick<SpentGrants, 'among'>
  readonly log: Pick<AgentLog, 'info' | 'warn'>
}): GrantStates {
  const { active, log } = deps
  const revoked = new Map<string, AccessGrant>()
  let known = new Map<string, GrantStatus>()
  let unreadable = 0

  const present = (): readonly GrantStatus[] => {
    const bundle = active.current()?.bundle
    if (bundle === undefined) return []
    const rule = active.enforced()
    const isOpen = rule.kind === 'bundle' && rule.allows === 'all'
    const spent = deps.spent.among(bundle.grants)
    const nowMs = active.now()
    return bundle.grants.map((grant) => ({
      ...grant,
      state: stateOf(grant, { nowMs, isSpent: spent.has(grant.id), isOpen }),
    }))
  }

  /** A grant that has gone before its time was ended by a person. */
  const noteRevoked = (now: ReadonlyMap<string, GrantStatus>): void => {
    for (const [id, { state: _, ...grant }] of known)
      if (!now.has(id) && (parseInstant(grant.expires_at) ?? 0) > active.now()) {
        revoked.set(id, grant)
        log.info({ grant: id }, 'access grant: revoked')
      }
    for (const id of [...revoked.keys()].slice(0, -MAX_REVOKED)) revoked.delete(id)
  }

  const follow = (): void => {
    const now = new Map(present().map((grant) => [grant.id, grant]))
    noteRevoked(now)
    for (const { id, state } of now.values())
      if (known.get(id)?.state !== state) log.info({ grant: id }, `access grant: ${state}`)
    known = now
    const count = active.current()?.bundle.unreadableGrants ?? 0
    if (count > unreadable)
      log.warn({ grants: count }, 'access grants that this agent cannot read open nothing')
    unreadable = count
  }

  active.subscribe(follow)
  return {
    list() {
      const grants = present()
      const ids = new Set(grants.map(({ id }) => id))
      const gone = [...revoked.values()].filter(({ id }) => !ids.has(id))
      return [...grants, ...gone.map((grant) => ({ ...grant, state: 'revoked' as const }))]
    },
  }
}

interface Circumstances {
  readonly nowMs: number
  readonly isSpent: boolean
  /** Whether allows of the bundle count. */
  readonly isOpen: boolean
}

function stateOf(
  { not_before, expires_at }: AccessGrant,
  { nowMs, isSpent, isOpen }: Circumstances,
): GrantStatus['state'] {
  if ((parseInstant(expires_at) ?? 0) <= nowMs) return 'expired'
  if (isSpent) return 'spent'
  if ((parseInstant(not_before) ?? Infinity) > nowMs) return 'not_begun'
  return isOpen ? 'in_force' : 'without_effect'
}
