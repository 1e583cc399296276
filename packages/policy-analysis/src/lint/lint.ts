import type { PolicySet } from '@palisade/policy-core'
import { createBudget } from './budget.ts'
import { findRepeatedIds, findSimilarNames, findSimilarResources } from './find-alike.ts'
import { findApex } from './find-apex.ts'
import { findBroad } from './find-broad.ts'
import { findClosedNames } from './find-closed-names.ts'
import { createCoverFinder } from './find-cover.ts'
import { findDirectoriesAlone } from './find-directory-alone.ts'
import { findConfusable, findNameNotations, findSwallowedPort } from './find-host-notations.ts'
import { findIdle } from './find-idle.ts'
import { findLeftOpen } from './find-left-open.ts'
import { findPathNotations } from './find-path-notations.ts'
import { findPointless, isPointless, effectsOf } from './find-pointless.ts'
import { findProtected, readOpenings } from './find-protected.ts'
import { findSingleStars } from './find-single-star.ts'
import { findUnreadable } from './find-unreadable.ts'
import { sortFindings, type Finding } from './finding.ts'
import { readLintSet, type LintOptions } from './lint-rule.ts'
import { readNamesAround } from './names-around.ts'

/**
 * Finds parts of compiling policies that have no effect, are surprising or are dangerous, sorted by
 * policy and rule. `LINT_SEVERITIES` explains each code. Pass all policies of an organization:
 * `lint` compares two policies only where they apply to the same teams. Without `home`, findings
 * about `~` hold for every home directory.
 *
 * Containment of resources is decided exactly, within a budget. A question beyond the budget
 * becomes the finding `undecided`. Throws `PolicyError` as `compilePolicy` does, and
 * `ERR_OPTION_INVALID` when a rule expires and `options.now` is not a finite number, or when
 * `maxSteps` is not a positive whole number.
 */
export function lint(set: PolicySet, options: LintOptions = {}): readonly Finding[] {
  const { maxSteps, ...reading } = options
  const read = readLintSet(set, reading)
  const budget = createBudget(maxSteps)
  const finder = createCoverFinder(read, budget)
  const around = readNamesAround(read)
  const openings = readOpenings(read)
  const findings = read.rules.flatMap((rule) => {
    const effects = effectsOf(rule, finder)
    const needed = effects.filter((each) => !isPointless(each)).map(({ entry }) => entry)
    return [
      ...findPointless(rule, effects),
      ...findIdle(rule),
      ...findBroad(rule),
      ...findNameNotations(rule),
      ...findPathNotations(rule),
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
