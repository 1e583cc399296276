import { domainOf, type Action, type RuleDecision } from '@palisade/policy-core'
import { lastAddress, protectionsOf, type ProtectedClass } from '@palisade/policy-core/internal'
import type { Answer } from '../pattern/path-containment.ts'
import type { Budget } from './budget.ts'
import { createCoverIndex, type CoverIndex } from './cover-index.ts'
import { covers, keyOf, onPort, portOf, type LintPattern } from './lint-pattern.ts'
import { forceOf, isInForceWith, type Entry, type LintRule, type LintSet } from './lint-rule.ts'

/** The resource that makes another pointless, or null; `unknown` when the budget is used up. */
export type Cover = Entry | null | 'unknown'

/** Searches the active resources of a set. */
export interface CoverFinder {
  /** The protected classes of the machine's own addresses. */
  readonly machine: LintSet['machine']
  /** The first resource of this decision that covers `pattern` and is in force with `entry`. */
  readonly coverOf: (
    entry: Entry,
    decision: RuleDecision,
    action: Action,
    pattern?: LintPattern,
  ) => Cover
  /**
   * The first allow that satisfies `isOpener`, among the allows that cover `pattern` on at least
   * one port and are in force with `deny`.
   */
  readonly openerOf: (
    deny: Entry,
    action: Action,
    pattern: LintPattern,
    isOpener: (allow: Entry) => Answer,
  ) => Cover
  /** The first resource of the same decision that makes `entry` redundant. */
  readonly doubleOf: (entry: Entry, action: Action) => Cover
}

interface Indexed {
  readonly index: CoverIndex
  /** Number of resources in the index, by key. */
  readonly known: Map<string, number>
}

export function createCoverFinder(set: LintSet, budget: Budget): CoverFinder {
  const indices = new Map<string, Indexed>()
  for (const rule of set.rules)
    for (const action of rule.active ? rule.actions : [])
      addTo(indices, rule, `${rule.decision} ${action}`, {
        patternOf: ({ pattern }) => pattern,
        most: 1,
      })
  for (const rule of set.rules)
    for (const action of rule.active && rule.decision === 'allow' ? rule.actions : [])
      if (domainOf(action) === 'network') addTo(indices, rule, `open ${action}`, OPEN)
  const candidates = (
    decision: RuleDecision | 'open',
    action: Action,
    pattern: LintPattern,
  ): Iterable<Entry> => indices.get(`${decision} ${action}`)?.index.candidates(pattern) ?? []
  function* candidatesToOpen(action: Action, pattern: LintPattern): Generator<Entry> {
    yield* candidates('allow', action, pattern)
    // An allow of a single port also opens a pattern without a port, on that port.
    if (pattern.kind !== 'path' && pattern.port === null) yield* candidates('open', action, pattern)
  }
  return {
    machine: set.machine,
    coverOf: (entry, decision, action, pattern = entry.pattern) =>
      firstCover(candidates(decision, action, pattern), budget, (other) =>
        isInForceWith(other.rule, entry.rule) ? covers(other.pattern, pattern, budget) : 'no',
      ),
    openerOf: (deny, action, pattern, isOpener) =>
      firstCover(candidatesToOpen(action, pattern), budget, (allow) => {
        const inner = onPort(pattern, portOf(pattern) ?? portOf(allow.pattern))
        if (!isInForceWith(allow.rule, deny.rule)) return 'no'
        const answer = covers(allow.pattern, inner, budget)
        return answer === 'yes' ? isOpener(allow) : answer
      }),
    doubleOf: (entry, action) =>
      firstCover(candidates(entry.rule.decision, action, entry.pattern), budget, (other) =>
        isDouble(entry, other, set.machine, budget),
      ),
  }
}

/** Selects the pattern to index for a resource, and the number of equal resources to keep. */
interface Kept {
  readonly patternOf: (entry: Entry) => LintPattern
  readonly most: number
}

/**
 * Allows without regard to ports. A few of each pattern suffice, even for thousands of ports.
 */
const OPEN: Kept = { patternOf: ({ pattern }) => onPort(pattern, null), most: 4 }

/**
 * Indexes the resources of a rule. Equal resources with equal actions, teams, mode and expiry
 * decide alike, so the first `most` of them represent all.
 */
function addTo(
  indices: Map<string, Indexed>,
  rule: LintRule,
  key: string,
  { patternOf, most }: Kept,
): void {
  const { index, known } = indices.get(key) ?? {
    index: createCoverIndex(),
    known: new Map<string, number>(),
  }
  indices.set(key, { index, known })
  const force = `${forceOf(rule)} ${rule.actions.join()}`
  for (const entry of rule.entries) {
    const pattern = patternOf(entry)
    const entryKey = `${force} ${keyOf(pattern)}`
    const count = known.get(entryKey) ?? 0
    if (count >= most) continue
    known.set(entryKey, count + 1)
    index.add(entry, pattern)
  }
}

/** Finds the cover of lowest rank, so that the answer does not depend on the order of an index. */
export function firstCover(
  entries: Iterable<Entry>,
  budget: Budget,
  test: (entry: Entry) => Answer,
): Cover {
  let first: Entry | null = null
  let isUnsure = false
  for (const entry of entries) {
    if ((budget.comparisons -= 1) < 0) return first ?? 'unknown'
    if (first !== null && entry.rank > first.rank) continue
    const answer = test(entry)
    if (answer === 'yes') first = entry
    if (answer === 'unknown') isUnsure = true
  }
  return first ?? (isUnsure ? 'unknown' : null)
}

/**
 * Tells whether `other` makes `entry` redundant. When each makes the other redundant for this
 * action, the resource of the rule with more actions stays, or else the first. A user can then
 * follow all findings at once.
 */
function isDouble(
  entry: Entry,
  other: Entry,
  machine: readonly ProtectedClass[],
  budget: Budget,
): Answer {
  if (other === entry || !isInForceWith(other.rule, entry.rule)) return 'no'
  const answer = replaces(other, entry, machine, budget)
  if (answer !== 'yes' || staysBeside(other, entry)) return answer
  if (!isInForceWith(entry.rule, other.rule)) return 'yes'
  const back = replaces(entry, other, machine, budget)
  return back === 'unknown' ? back : back === 'yes' ? 'no' : 'yes'
}

function staysBeside(other: Entry, entry: Entry): boolean {
  const more = other.rule.actions.length - entry.rule.actions.length
  return more === 0 ? other.rank < entry.rank : more > 0
}

function replaces(
  outer: Entry,
  inner: Entry,
  machine: readonly ProtectedClass[],
  budget: Budget,
): Answer {
  if (outer.key === inner.key) return 'yes'
  const answer = covers(outer.pattern, inner.pattern, budget)
  if (answer !== 'yes' || inner.rule.decision === 'deny') return answer
  return opensAsMuch(outer.pattern, inner.pattern, machine) ? 'yes' : 'no'
}

/**
 * Tells whether `outer`, which covers `inner`, opens every protected address that `inner` opens.
 * A range opens a class only when it lies inside that class, so testing its ends is enough. Both
 * ends are tested because `::` and `::1`, unlike their neighbours, carry no IPv4 address.
 */
function opensAsMuch(
  outer: LintPattern,
  inner: LintPattern,
  machine: readonly ProtectedClass[],
): boolean {
  if (outer.kind !== 'range' || inner.kind !== 'range') return true
  const { family, base } = inner.range
  return [base, lastAddress(inner.range)].every((value) =>
    protectionsOf({ family, value }, machine).every(
      ({ isOpenedBy }) => !isOpenedBy(inner.range) || isOpenedBy(outer.range),
    ),
  )
}
