import type { Decision, UnavailableReason } from '@palisade/policy-core'
import type { Enforcement } from '../state/agent-state.ts'
import type { CompiledBundle } from './compile-bundle.ts'
import { isOffline } from './offline.ts'

type InForceRule = Extract<Enforcement<CompiledBundle>, { readonly kind: 'bundle' }>
import { isGrantedAlone } from './once-grant.ts'

/** The decision of a bundle as it counts; a lapsed one is replaced. */
export function applyExpiry<D extends Decision>(
  rule: InForceRule,
  made: D,
  deny: (reason: UnavailableReason, request: unknown, from: Provenance) => D,
  conflict: Partial<D>,
): D {
  const lapsed = findLapse(rule, made)
  if (lapsed === null) return made
  const { revision } = rule.bundle.bundle
  const denied = deny(lapsed, made.request, { revision, stale: rule.stale })
  return lapsed === 'no_policy' ? { ...denied, ...conflict } : denied
}

interface Provenance {
  readonly revision: number
  readonly stale: boolean
}

/**
 * Why a decision of the bundle does not count; null when it does. Its denies always count. A
 * default deny is reported as the lapse, because a new rule would not open the resource either. So
 * is a request that the bundle only observes, or that a grant alone allows.
 */
function findLapse({ allows, bundle }: InForceRule, made: Decision): UnavailableReason | null {
  const { decision, reason, request } = made
  if (allows === 'all') return null
  if (decision === 'deny' && reason !== 'default_deny') return null
  if (allows === 'none') return 'no_policy'
  const isRuled = decision === 'allow' && reason === 'rule' && !isGrantedAlone(made)
  if (isRuled && isOffline(bundle.offline, request)) return null
  return 'policy_expired'
}
