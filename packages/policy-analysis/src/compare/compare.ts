import { PolicyError, type CompiledPolicy } from '@palisade/policy-core'
import { enforcedAt, linearRules, quote, requireCompiled } from '@palisade/policy-core/internal'
import { requireSteps } from '../max-steps.ts'
import type { Change, CompareOptions, Comparison } from './comparison.ts'
import { createSearches, type ListedPolicy } from './searches.ts'
import { listPatterns } from './listed-patterns.ts'
import { createMeters, type Meters } from './meter.ts'

export const DEFAULT_MAX_STEPS = 10_000_000

/**
 * Lists the requests that become reachable or blocked when `after` replaces `before`, for every
 * action, port, name, address and path. Exact: the decision on a name, an address or a path differs
 * if and only if a change holds the request. The decision on a name together with an address
 * differs only if a change holds the name or the address. `resolve_unlisted_names` affects look-ups
 * but no decisions, so it is not compared. Only differences are examined: two large organizations
 * that differ in one rule are compared in well under a second.
 *
 * Expired rules and shadow policies decide nothing, so they are not compared. Rules that expire are
 * compared at `options.now`; for a later time compare again.
 *
 * Throws `PolicyError` with `ERR_OPTION_INVALID` when one of the two is not compiled, when they
 * differ in `caseSensitive`, when one has grants or the default `observe`, when a rule expires and
 * `now` is not a finite number, or when `maxSteps` is not a positive whole number.
 */
export function compare(
  before: CompiledPolicy,
  after: CompiledPolicy,
  options: CompareOptions = {},
): Comparison {
  const { older, newer, meters } = readComparison(before, after, options)
  const reachable = createSearches(older, newer, meters).map(({ all }) => all())
  const blocked = createSearches(newer, older, meters).map(({ all }) => all())
  const undecided = [...reachable, ...blocked].flatMap((findings) => findings.undecided)
  return {
    reachable: reachable.flatMap(({ changes }) => changes.toSorted(byText)),
    blocked: blocked.flatMap(({ changes }) => changes.toSorted(byText)),
    complete: undecided.length === 0,
    undecided,
  }
}

/** Both policies in the form that comparisons use, and the budgets of the comparison. */
export function readComparison(
  before: CompiledPolicy,
  after: CompiledPolicy,
  { maxSteps = DEFAULT_MAX_STEPS, now }: CompareOptions,
): { readonly older: ListedPolicy; readonly newer: ListedPolicy; readonly meters: Meters } {
  requireCompiled('before', before)
  requireCompiled('after', after)
  if (before.caseSensitive !== after.caseSensitive)
    throw new PolicyError(
      'ERR_OPTION_INVALID',
      `${quote('caseSensitive')}: the two policies differ in it; ` +
        `compile both for the same file system`,
    )
  if (before.conditions?.observes === true || after.conditions?.observes === true)
    throw new PolicyError(
      'ERR_OPTION_INVALID',
      `${quote('default')}: a set that observes cannot be compared, because it allows requests ` +
        `that no rule names; compile it without ${quote('default')}`,
    )
  if ([before, after].some(hasGrants))
    throw new PolicyError(
      'ERR_OPTION_INVALID',
      `${quote('grants')}: a set with grants cannot be compared; compile it without them`,
    )
  return {
    older: { patterns: listPatterns(enforcedAt(before, now)), machine: before.machine },
    newer: { patterns: listPatterns(enforcedAt(after, now)), machine: after.machine },
    meters: createMeters(requireSteps(maxSteps)),
  }
}

/** Grants open no protected address, which the spaces of a comparison do not know. */
function hasGrants(policy: CompiledPolicy): boolean {
  return linearRules(policy).some(({ origin }) => origin === 'grant')
}

function byText(a: Change, b: Change): number {
  const [textA, textB] = [a, b].map(({ resource, within = '' }) => `${resource} ${within}`)
  if (textA === undefined || textB === undefined || textA === textB) return 0
  return textA < textB ? -1 : 1
}
