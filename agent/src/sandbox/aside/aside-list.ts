import type { ActivePolicy, MachineDecision } from '../../policy/decision/active-policy.ts'
import type { EnforcementEvent } from '../../enforcement/enforcement-event.ts'
import { describeAside, type ToldAside } from './describe-aside.ts'
import type { KeptAside } from './kept-aside.ts'

/** The names that were taken from one sandbox. Each is a decision. */
export interface AsideList {
  readonly add: (kept: KeptAside) => void
  /** See `describeAside`. */
  readonly describe: () => readonly string[]
}

export function createAsideList(deps: {
  readonly sandbox: string
  readonly decide: ActivePolicy['decide']
  readonly onEvent: (event: EnforcementEvent) => void
}): AsideList {
  const all: ToldAside[] = []
  return {
    add(kept) {
      const decision = denialOf(kept.path, deps.decide)
      all.push({ ...kept, rule: decision.rules[0] ?? null })
      deps.onEvent({
        point: 'files',
        protocol: 'file',
        sandbox: deps.sandbox,
        decision,
        client: null,
      })
    },
    describe: () => describeAside(all),
  }
}

/** An allow that does not spell a guarded name does not open it, so it counts as no rule. */
function denialOf(path: string, decide: ActivePolicy['decide']): MachineDecision {
  const made = decide({ action: 'write', path })
  if (made.decision === 'deny') return made
  const hint = `allow write ${path}`
  return { ...made, decision: 'deny', reason: 'default_deny', rules: [], hint }
}
