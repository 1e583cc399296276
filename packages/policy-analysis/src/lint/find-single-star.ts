import type { Action } from '@palisade/policy-core'
import { quote } from '@palisade/policy-core/internal'
import type { Answer } from '../pattern/path-containment.ts'
import type { Budget } from './budget.ts'
import {
  createCoverIndex,
  createPathIndex,
  type CoverIndex,
  type PathIndex,
} from './cover-index.ts'
import { firstCover, type Cover } from './find-cover.ts'
import { createFinding, type Finding } from './finding.ts'
import { covers, deeperThan, intersects, widen } from './lint-pattern.ts'
import {
  eachEntry,
  isInForceWith,
  refer,
  type Entry,
  type EntryOfAction,
  type LintRule,
  type LintSet,
} from './lint-rule.ts'
import type { NamesAround } from './names-around.ts'

/**
 * Finds allows that end in `*` beside a deny of a deeper level that no rule allows. Such a deny has
 * no effect, so the author meant `**`. An allow of a deeper level is no such sign: its author knows
 * that `*` covers one level.
 */
export function findSingleStars(set: LintSet, around: NamesAround, budget: Budget): Finding[] {
  const deeper = indexDeeper(set.rules)
  const allowed = new Map<Action, PathIndex>()
  const described = new Set<Entry>()
  return eachEntry(set.rules, 'deny').flatMap((each) => {
    const { entry: deny, action } = each
    const allow = findNarrow(deeper.get(action), deny, budget)
    if (allow === null) return []
    if (allow === 'unknown') return [describeUndecided(deny)]
    if (described.has(allow)) return []
    const paths = allowed.get(action) ?? indexAllowed(set.rules, action)
    allowed.set(action, paths)
    const needed = isNeeded(each, { around, paths }, budget)
    if (needed === 'unknown') return [describeUndecided(deny)]
    if (needed === 'yes') return []
    described.add(allow)
    return [describe(allow, deny)]
  })
}

/** Indexes the allows that end in `*` by the pattern for the levels below. */
function indexDeeper(rules: readonly LintRule[]): Map<Action, CoverIndex> {
  const indices = new Map<Action, CoverIndex>()
  for (const { entry, action } of eachEntry(rules, 'allow')) {
    const pattern = deeperThan(entry.pattern)
    if (pattern === null) continue
    const index = indices.get(action) ?? createCoverIndex()
    indices.set(action, index)
    index.add(entry, pattern)
  }
  return indices
}

/** The first allow whose single `*` stops above the denied level. */
function findNarrow(index: CoverIndex | undefined, deny: Entry, budget: Budget): Cover {
  return firstCover(index?.candidates(deny.pattern) ?? [], budget, (allow) => {
    const deeper = deeperThan(allow.pattern)
    if (deeper === null || !isInForceWith(deny.rule, allow.rule)) return 'no'
    const isDeeper = covers(deeper, deny.pattern, budget)
    if (isDeeper !== 'yes') return isDeeper
    const meets = intersects(allow.pattern, deny.pattern, budget)
    return meets === 'unknown' ? meets : meets === 'yes' ? 'no' : 'yes'
  })
}

/** Tells whether the deny restricts some allow and therefore has an effect. */
function isNeeded(
  { entry: { pattern }, action }: EntryOfAction,
  { around, paths }: { readonly around: NamesAround; readonly paths: PathIndex },
  budget: Budget,
): Answer {
  if (pattern.kind === 'range') return 'yes'
  if (pattern.kind === 'name') {
    const isTouched =
      around.hasRanges(action) ||
      around.hasBelow(action, pattern.domain) ||
      around.isCovered('allow', action, pattern.domain)
    return isTouched ? 'yes' : 'no'
  }
  for (const allow of paths.touching(pattern)) {
    if ((budget.comparisons -= 1) < 0) return 'unknown'
    const answer = intersects(allow.pattern, pattern, budget)
    if (answer !== 'no') return answer
  }
  return 'no'
}

function indexAllowed(rules: readonly LintRule[], action: Action): PathIndex {
  const index = createPathIndex()
  for (const { entry, action: itsAction } of eachEntry(rules, 'allow'))
    if (itsAction === action && entry.pattern.kind === 'path') index.add(entry, entry.pattern)
  return index
}

function describe(allow: Entry, deny: Entry): Finding {
  return createFinding(
    'single_star',
    [refer(allow), refer(deny)],
    `${quote(allow.text)} covers one level, ` +
      `but ${quote(deny.text)} denies something deeper that no rule allows`,
    `write ${quote(widen(allow))} if deeper levels are meant, or remove the deny`,
  )
}

function describeUndecided(deny: Entry): Finding {
  return createFinding(
    'undecided',
    [refer(deny)],
    `the budget ran out before it was clear whether ${quote(deny.text)} ` +
      `denies anything that is allowed`,
    'write patterns with fewer `*` and `**`, or split the policies before checking them',
  )
}
