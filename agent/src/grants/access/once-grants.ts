import type { ActivePolicy, MachineDecision } from '../../policy/decision/active-policy.ts'
import { isGrantedAlone } from '../../policy/decision/once-grant.ts'
import type { SpentGrants } from './spent-grants.ts'

/** Spends grants for one use, each for the first connection that it alone allows. */
export interface OnceGrants {
  /**
   * Spends the grant that the decision needs beside those of the holder, and gives it to the holder
   * once that is durable: `taken`. `free` where no grant is needed. `late` where another connection
   * was first, or the use could not be kept: then the grant counts no more.
   */
  take(decision: MachineDecision, holder: Holder): Promise<'free' | 'taken' | 'late'>
  /** Decides with spent grants whose use goes on. */
  decide(request: unknown, held: ReadonlySet<string>): MachineDecision
}

export function createOnceGrants(deps: {
  readonly active: Pick<ActivePolicy, 'decideHolding' | 'onceGrantOf' | 'state'>
  readonly spent: Pick<SpentGrants, 'spend'>
  readonly onError: (error: unknown) => void
}): OnceGrants {
  const { active, spent, onError } = deps
  return {
    async take(decision, holder) {
      const grant = active.onceGrantOf(decision)
      if (grant === null || decision.rules.some(({ rule_id }) => holder.held.has(rule_id)))
        return 'free'
      const spending = spent.spend(grant)
      // Notices the change, so that other connections are decided again.
      active.state()
      const isFirst = await spending.catch((error: unknown) => {
        onError(error)
        return false
      })
      if (isFirst) holder.hold(grant.id)
      return isFirst ? 'taken' : 'late'
    },
    decide: active.decideHolding,
  }
}

/** A connection, which keeps the grants that it has spent. */
export interface Holder {
  readonly held: ReadonlySet<string>
  hold(grant: string): void
}

interface HoldingDeps {
  readonly decide: (request: unknown) => MachineDecision
  /** Absent where no connection spends a grant. */
  readonly once?: OnceGrants | undefined
}

/**
 * Decides for a connection, whose own grants count on. They lift no denial but the default, and
 * stand beside other grants, so that the connection needs no such grant.
 */
export function decideHeld(
  { decide, once }: HoldingDeps,
  { held }: Pick<Holder, 'held'>,
  request: unknown,
): MachineDecision {
  const made = decide(request)
  if (once === undefined || held.size === 0) return made
  const isGranted = isGrantedAlone(made)
  if (!isGranted && made.reason !== 'default_deny') return made
  const kept = once.decide(request, held)
  if (kept.decision !== 'allow') return made
  return isGranted ? { ...made, rules: kept.rules } : kept
}

/** Decides the same, and spends the grant that alone allows the request before it resolves. */
export async function decideAndTake(
  deps: HoldingDeps,
  holder: Holder,
  request: unknown,
): Promise<MachineDecision> {
  // Ends, because the next time a taken grant is held, and one that came too late counts no more.
  for (;;) {
    const made = decideHeld(deps, holder, request)
    if (deps.once === undefined || made.decision === 'deny') return made
    if ((await deps.once.take(made, holder)) === 'free') return made
  }
}
