import { lastAddress } from '../address/ip-range.ts'
import { protectionsOf, type ProtectedClass } from '../address/protected-address.ts'
import type { Answer } from '../language/path-containment.ts'
import { domainOf, type Action, type RuleDecision } from '../policy/policy.ts'
import type { Budget } from './budget.ts'
import { covers } from './covers.ts'
import { createCoverIndex, type CoverIndex } from './cover-index.ts'
import {
  keyOf,
  onPort,
  portOf,
  type Entry,
  type LintPattern,
  type LintRule,
  type LintSet,
} from './lint-rule.ts'
import { isInForceWith } from './precedence.ts'

/** What makes a resource pointless; `unknown` when the budget did not suffice to tell. */
export type Cover = Entry | null | 'unknown'

/** Asks every active resource of a set. */
export interface CoverFinder {
  /** The protected classes of the machine's own addresses. */
  readonly machine: LintSet['machine']
  /** The first resource of this decision that covers `pattern` and counts wherever `entry` does. */
  readonly coverOf: (
    entry: Entry,
    decision: RuleDecision,
    action: Action,
    pattern?: LintPattern,
  ) => Cover
  /**
   * The first allow of which `isOpener` holds, among those that cover `pattern` on one port at
   * least and count wherever `deny` does.
   */
  readonly openerOf: (
    deny: Entry,
    action: Action,
    pattern: LintPattern,
    isOpener: (allow: Entry) => Answer,
  ) => Cover
  /** The first resource of the same decision without which nothing would be lost. */
  readonly doubleOf: (entry: Entry, action: Action) => Cover
}

interface Indexed {
  readonly index: CoverIndex
  /** How many of each key it has. */
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
    // A pattern of every port is open where an allow of one port is.
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

/** What an index has of each resource, and how many that are equal in it. */
interface Kept {
  readonly patternOf: (entry: Entry) => LintPattern
  readonly most: number
}

/**
 * Allows whatever their ports. Of one name on thousands of ports a few say what there is to say.
 */
const OPEN: Kept = { patternOf: ({ pattern }) => onPort(pattern, null), most: 4 }

/**
 * Of equal resources for equal actions and teams the first stands for all: they decide the same.
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
  const force = `${rule.identity.origin} ${rule.teams?.id ?? 'everybody'} ${rule.actions.join()}`
  for (const entry of rule.entries) {
    const pattern = patternOf(entry)
    const entryKey = `${force} ${keyOf(pattern)}`
    const count = known.get(entryKey) ?? 0
    if (count >= most) continue
    known.set(entryKey, count + 1)
    index.add(entry, pattern)
  }
}

/** The one of lowest rank, so that the answer does not depend on the order of an index. */
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
 * Tells whether `other` makes `entry` superfluous. Of two that make each other superfluous for this
 * action the one of the rule with more actions stays, or else the first, so that all findings may
 * be followed at once.
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
 * Tells whether every protected address that `inner` opens is opened by `outer`, which covers it.
 * What `inner` opens, it opens because all of it lies in the class: so its ends tell. Both, because
 * `::` and `::1` carry no IPv4 address where all others around them do.
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
