import type { CompileOptions, PolicySet } from '../decision/policy-set.ts'
import { createBudget } from './budget.ts'
import { findApex } from './find-apex.ts'
import { findBroad } from './find-broad.ts'
import { findClosedNames } from './find-closed-names.ts'
import { findConfusable } from './find-confusable.ts'
import { createCoverFinder } from './find-cover.ts'
import { findIdle } from './find-idle.ts'
import { findLeftOpen } from './find-left-open.ts'
import { findLiteralSyntax } from './find-literal-syntax.ts'
import { findPointless, isPointless, judgeRule } from './find-pointless.ts'
import { findProtected } from './find-protected.ts'
import { findRepeatedIds } from './find-repeated.ts'
import { findSimilarNames, findSimilarResources } from './find-similar.ts'
import { findSingleStars } from './find-single-star.ts'
import { findUnreadable } from './find-unreadable.ts'
import { sortFindings, type Finding } from './finding.ts'
import { readLintSet } from './lint-rule.ts'
import { readNamesAround } from './names-around.ts'
import { readOpenings } from './openings.ts'

/**
 * What in policies that compile is without effect, surprising or dangerous, by policy and rule;
 * `LINT_SEVERITIES` says what each code means. Give all policies of an organization: one counts
 * against another only where it applies to the same teams. Without `home`, what is said of `~`
 * holds wherever it is.
 *
 * Whether one resource lies in another is decided exactly, within a fixed budget; what is beyond it
 * is found `undecided`. Throws `PolicyError` as `compilePolicy` does.
 */
export function lint(set: PolicySet, options: CompileOptions = {}): readonly Finding[] {
  const read = readLintSet(set, options)
  const budget = createBudget()
  const finder = createCoverFinder(read, budget)
  const around = readNamesAround(read)
  const openings = readOpenings(read)
  const findings = read.rules.flatMap((rule) => {
    const judged = judgeRule(rule, finder)
    const needed = judged.filter((each) => !isPointless(each)).map(({ entry }) => entry)
    return [
      ...findPointless(rule, judged),
      ...findIdle(rule),
      ...findBroad(rule),
      ...findLiteralSyntax(rule),
      ...findProtected(rule, openings),
      ...rule.entries.flatMap(findConfusable),
      ...needed.flatMap((entry) => [
        ...findApex(entry, around),
        ...findLeftOpen(entry, around, finder),
        ...findUnreadable(entry, finder, budget),
      ]),
    ]
  })
  return sortFindings([
    ...findings,
    ...findSingleStars(read, around, budget),
    ...findClosedNames(read, budget),
    ...findRepeatedIds(read),
    ...findSimilarNames(read),
    ...findSimilarResources(read),
  ])
}
