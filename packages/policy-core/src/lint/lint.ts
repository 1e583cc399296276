import type { PolicySet } from '../decision/policy-set.ts'
import { createBudget } from './budget.ts'
import { findApex } from './find-apex.ts'
import { findBroad } from './find-broad.ts'
import { findClosedNames } from './find-closed-names.ts'
import { findConfusable } from './find-confusable.ts'
import { createCoverFinder } from './find-cover.ts'
import { findDirectoriesAlone } from './find-directory-alone.ts'
import { findIdle } from './find-idle.ts'
import { findLeftOpen } from './find-left-open.ts'
import { findLiteralSyntax } from './find-literal-syntax.ts'
import { findPointless, isPointless, judgeRule } from './find-pointless.ts'
import { findProtected } from './find-protected.ts'
import { findRepeatedIds } from './find-repeated.ts'
import { findSimilarNames, findSimilarResources } from './find-similar.ts'
import { findSingleStars } from './find-single-star.ts'
import { findSwallowedPort } from './find-swallowed-port.ts'
import { findUnreadable } from './find-unreadable.ts'
import { sortFindings, type Finding } from './finding.ts'
import { readLintSet, type LintOptions } from './lint-rule.ts'
import { readNamesAround } from './names-around.ts'
import { readOpenings } from './openings.ts'

/**
 * Finds parts of compiling policies that have no effect, are surprising or are dangerous, sorted by
 * policy and rule. `LINT_SEVERITIES` explains each code. Pass all policies of an organization:
 * `lint` compares two policies only where they apply to the same teams. Without `home`, findings
 * about `~` hold for every home directory.
 *
 * Containment of resources is decided exactly, within a fixed budget. A question beyond the budget
 * becomes the finding `undecided`. Throws `PolicyError` as `compilePolicy` does, and
 * `ERR_OPTION_INVALID` when a rule expires and `options.now` is not a finite number.
 */
export function lint(set: PolicySet, options: LintOptions = {}): readonly Finding[] {
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
      ...findSwallowedPort(rule),
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
    ...findDirectoriesAlone(read, budget),
  ])
}
