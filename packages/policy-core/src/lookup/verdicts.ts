import type { RuleDecision } from '../policy/policy.ts'
import { allows, denies, flagOf, type ActionSlot } from './flags.ts'
import type { Groups } from './groups.ts'
import type { MatchSet } from './match-set.ts'
import type { RuleTable } from './rule-table.ts'
import { DEFAULT_DENY, type Verdict } from './verdict.ts'

/** Names the rules that decide: one entry a rule, with its first resource that matched. */
export interface Verdicts {
  /** What a set says of an action: a deny wins. Kept with the set, so that it costs nothing again. */
  readonly of: (set: MatchSet, slot: ActionSlot) => Verdict
  /** What the rules of one kind in several sets say together; made anew each time. */
  readonly together: (
    sets: readonly MatchSet[],
    decision: RuleDecision,
    slot: ActionSlot,
  ) => Verdict
}

/**
 * How many rules all verdicts that are kept may name, and groups their sets; beyond it they are
 * forgotten. Ten thousand resources of one rule may match one path, so rules alone bound nothing.
 */
const MAX_KEPT = 1 << 18

export function createVerdicts(table: RuleTable, groups: Groups): Verdicts {
  let kept: MatchSet[] = []
  let sizeKept = 0

  function make(sets: readonly MatchSet[], decision: RuleDecision, slot: ActionSlot): Verdict {
    const flag = flagOf(decision, slot)
    const firsts = new Map<number, number>()
    for (const set of sets) for (const group of set.groups) addFirsts(firsts, group, flag)
    // Resources are numbered rule by rule, so their order is that of the rules.
    const resources = Uint32Array.from(firsts.values()).toSorted()
    const rules = Array.from(resources, (resource) => Object.freeze(table.matchOf(resource)))
    return { decision, reason: 'rule', rules: Object.freeze(rules) }
  }

  function addFirsts(firsts: Map<number, number>, group: number, flag: number): void {
    if ((groups.flagsOf(group) & flag) === 0) return
    for (const resource of groups.resourcesOf(group)) {
      const rule = table.ruleOf(resource)
      if ((table.flagsOf(rule) & flag) === 0) continue
      const first = firsts.get(rule)
      if (first === undefined || resource < first) firsts.set(rule, resource)
    }
  }

  function keep(set: MatchSet, slot: ActionSlot, verdict: Verdict): Verdict {
    const size = verdict.rules.length + set.groups.length
    sizeKept += size
    if (sizeKept > MAX_KEPT) {
      for (const forgotten of kept) {
        forgotten.first = null
        forgotten.second = null
      }
      kept = []
      sizeKept = size
    }
    kept.push(set)
    return slot === 0 ? (set.first = verdict) : (set.second = verdict)
  }

  function conclude(set: MatchSet, slot: ActionSlot): Verdict {
    if (denies(set.flags, slot)) return keep(set, slot, make([set], 'deny', slot))
    if (allows(set.flags, slot)) return keep(set, slot, make([set], 'allow', slot))
    return DEFAULT_DENY
  }

  return {
    of: (set, slot) => (slot === 0 ? set.first : set.second) ?? conclude(set, slot),
    together: make,
  }
}
