import type { RuleDecision } from '../policy/policy.ts'
import { allows, denies, flagOf, type ActionSlot } from './flags.ts'
import type { Groups } from './groups.ts'
import { NOT_CONCLUDED, type MatchSet } from './match-set.ts'
import type { RuleTable } from './rule-table.ts'
import { DEFAULT_DENY, type Verdict } from './verdict.ts'

/**
 * Maximum number of rules in all kept verdicts plus groups in their sets. Beyond it all verdicts
 * are dropped. Groups count because ten thousand resources of one rule may match one path.
 */
const MAX_KEPT = 1 << 18

/** Lists the deciding rules: one entry per rule, with its first matching resource. */
export interface VerdictSource {
  /** The verdict of a set on an action: a deny wins. */
  of(set: MatchSet, slot: ActionSlot): Verdict
  /** The joint verdict of the rules of one kind in the groups. */
  together(groups: readonly number[], decision: RuleDecision, slot: ActionSlot): Verdict
}

/** The verdicts of all rules. Each set keeps its verdicts for later requests. */
export class Verdicts implements VerdictSource {
  readonly #table: RuleTable
  readonly #groups: Groups
  #keptBy: MatchSet[] = []
  #sizeKept = 0

  constructor(table: RuleTable, groups: Groups) {
    this.#table = table
    this.#groups = groups
  }

  of(set: MatchSet, slot: ActionSlot): Verdict {
    return set.verdicts[slot] ?? this.#keep(set, slot)
  }

  /** Never kept. */
  together(groups: readonly number[], decision: RuleDecision, slot: ActionSlot): Verdict {
    const flag = flagOf(decision, slot)
    const firsts = new Map<number, number>()
    for (const group of groups) this.#addFirsts(firsts, group, flag)
    const rules = inOrder(firsts).map((resource) => Object.freeze(this.#table.matchOf(resource)))
    return { decision, reason: 'rule', rules: Object.freeze(rules) }
  }

  #addFirsts(firsts: Map<number, number>, group: number, flag: number): void {
    if ((this.#groups.flagsOf(group) & flag) === 0) return
    for (const resource of this.#groups.resourcesOf(group)) {
      const rule = this.#table.ruleOf(resource)
      if ((this.#table.flagsOf(rule) & flag) === 0) continue
      const first = firsts.get(rule)
      if (first === undefined || resource < first) firsts.set(rule, resource)
    }
  }

  /** Like `of`, for a set that does not last. */
  conclude(set: MatchSet, slot: ActionSlot): Verdict {
    const decision = decisionOf(set.flags, slot)
    // The groups may be listed at each access, so a default deny does not read them.
    // bench: decide/hosts
    return decision === null ? DEFAULT_DENY : this.together(set.groups, decision, slot)
  }

  #keep(set: MatchSet, slot: ActionSlot): Verdict {
    const decision = decisionOf(set.flags, slot)
    if (decision === null) return DEFAULT_DENY
    const { groups } = set
    const verdict = this.together(groups, decision, slot)
    this.#makeRoom(verdict.rules.length + groups.length)
    this.#keptBy.push(set)
    set.verdicts = set.verdicts.with(slot, verdict)
    return verdict
  }

  #makeRoom(size: number): void {
    this.#sizeKept += size
    if (this.#sizeKept <= MAX_KEPT) return
    for (const set of this.#keptBy) set.verdicts = NOT_CONCLUDED
    this.#keptBy = []
    this.#sizeKept = size
  }
}

/**
 * Resources are numbered rule by rule, so their order is the order of rules. Most lists have one
 * entry.
 */
function inOrder(firsts: ReadonlyMap<number, number>): readonly number[] {
  const resources = [...firsts.values()]
  return resources.length < 2 ? resources : Array.from(Uint32Array.from(resources).toSorted())
}

function decisionOf(flags: number, slot: ActionSlot): RuleDecision | null {
  if (denies(flags, slot)) return 'deny'
  return allows(flags, slot) ? 'allow' : null
}
