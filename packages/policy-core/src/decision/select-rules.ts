import type { AddressIndex } from '../lookup/address/address-index.ts'
import { CONDITIONAL, isConditional, type ActionSlot } from '../lookup/flags.ts'
import type { Groups } from '../lookup/groups.ts'
import { createMatchSet, type MatchSet } from '../lookup/match-set.ts'
import type { NameIndex } from '../lookup/name/name-index.ts'
import type { RuleTable } from '../lookup/rule-table.ts'
import type { Verdict } from '../lookup/verdict.ts'
import { Verdicts, type VerdictSource } from '../lookup/verdicts.ts'
import type { CompiledPolicy, CompiledRule, Lapse } from './compiled-policy.ts'

/** Compiled policies with the indices of all their rules. */
export interface WholePolicy extends CompiledPolicy {
  readonly names: NameIndex
  readonly addresses: AddressIndex
}

/** The rules that count: those of a place in the table without a lapse. */
export type LapsesOf = (rule: number) => readonly Lapse[]

/**
 * The policies as if they had only the rules without a lapse. Takes constant time, because all
 * selections share the indices: a set with conditional rules gets its flags anew at each request,
 * and every other set is shared with its verdicts.
 */
export function selectRules(
  whole: WholePolicy,
  lapsesOf: LapsesOf,
  resolvesWith: (flagsOf: Groups['flagsOf']) => readonly boolean[],
): CompiledPolicy {
  const table = selectFromTable(whole.table, lapsesOf)
  const groups = selectFromGroups(whole.groups, table)
  const { flagsOf } = groups
  const { names, addresses, paths } = whole
  const ofPath = (set: MatchSet): MatchSet =>
    isConditional(set.flags)
      ? createMatchSet(set.groups, joinFlags(set.groups, flagsOf) | CONDITIONAL)
      : set
  return {
    ...whole,
    table,
    groups,
    verdicts: selectVerdicts(whole.verdicts, new Verdicts(table, groups)),
    names: {
      sets: {
        at: (set, port) => names.sets.atWith(set, port, flagsOf),
        portsOf: (set) => names.sets.portsOf(set),
      },
      find: (text) => names.find(text),
      findCanonical: (name) => names.findCanonical(name),
    },
    addresses: {
      sets: {
        at: (set, port) => addresses.sets.atWith(set, port, flagsOf),
        portsOf: (set) => addresses.sets.portsOf(set),
      },
      ipv4: (bits) => addresses.ipv4(bits),
      ipv6: (words) => addresses.ipv6(words),
      openingPrefix: (set) => addresses.openingPrefix(set),
      prefixOf: (group) => addresses.prefixOf(group),
    },
    paths: {
      find(path) {
        const set = paths.find(path)
        return set && ofPath(set)
      },
      findCanonical: (path) => ofPath(paths.findCanonical(path)),
    },
    linear: selectFromLinear(whole, lapsesOf),
    resolvesUnlisted: resolvesWith(flagsOf),
    conditions: null,
  }
}

function selectFromTable(table: RuleTable, lapsesOf: LapsesOf): RuleTable {
  return {
    ...table,
    flagsOf: (rule) => (lapsesOf(rule).length === 0 ? table.flagsOf(rule) : 0),
  }
}

function selectFromGroups({ flagsOf, resourcesOf }: Groups, table: RuleTable): Groups {
  return {
    resourcesOf,
    flagsOf: (group) =>
      isConditional(flagsOf(group))
        ? resourcesOf(group).reduce(
            (all, resource) => all | table.flagsOf(table.ruleOf(resource)),
            0,
          )
        : flagsOf(group),
  }
}

function joinFlags(groups: readonly number[], flagsOf: Groups['flagsOf']): number {
  return groups.reduce((all, group) => all | flagsOf(group), 0)
}

/** A conditional set is made for one request, so its verdicts are never kept. */
function selectVerdicts(whole: VerdictSource, selected: Verdicts): VerdictSource {
  return {
    of: (set: MatchSet, slot: ActionSlot): Verdict =>
      isConditional(set.flags) ? selected.conclude(set, slot) : whole.of(set, slot),
    together: (groups, decision, slot) => selected.together(groups, decision, slot),
  }
}

/** Marks the rules that do not count, at first use. */
function selectFromLinear(
  { linear }: WholePolicy,
  lapsesOf: LapsesOf,
): () => readonly CompiledRule[] {
  let rules: readonly CompiledRule[] | null = null
  return () =>
    (rules ??= linear().map((compiled, rule) => {
      const lapses = lapsesOf(rule)
      return lapses.length === 0 ? compiled : { ...compiled, active: false, lapses }
    }))
}
