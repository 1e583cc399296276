import { MAX_NAME_LENGTH, MAX_PATH_BYTES, quote } from '@palisade/policy-core/internal'
import { matchesNoName } from '../pattern/network-language.ts'
import { shortestPathBytes } from '../pattern/shortest-path.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry, type LintRule } from './lint-rule.ts'

/** Finds rules and resources that can never decide a request, regardless of other rules. */
export function findIdle(rule: LintRule): Finding[] {
  if (rule.expiredAt !== null)
    return [
      createFinding(
        'expired',
        [rule.identity],
        `the rule expired at ${quote(rule.expiredAt)}, so it has no effect`,
        'remove the rule, or write a later `expires_at`',
      ),
    ]
  if (!rule.active)
    return [
      createFinding(
        'inactive',
        [rule.identity],
        'a local allow has no effect on a machine that the organization governs',
        'remove the rule, or ask the organization to allow it',
      ),
    ]
  return rule.entries.flatMap((entry) => {
    const impossible = describeImpossible(entry)
    if (impossible === null) return []
    const message = `${quote(entry.text)} matches nothing: ${impossible.why}`
    return [createFinding('matches_nothing', [refer(entry)], message, impossible.mend)]
  })
}

/** Describes why the resource matches no request, with the correction; null for others. */
export function describeImpossible({
  pattern,
}: Entry): { readonly why: string; readonly mend: string } | null {
  if (pattern.kind === 'path' && shortestPathBytes(pattern.segments) > MAX_PATH_BYTES)
    return { why: `a path has at most ${MAX_PATH_BYTES} bytes`, mend: 'write a shorter pattern' }
  const hasNoRoom = pattern.kind === 'name' && matchesNoName(pattern)
  return hasNoRoom
    ? {
        why: `a name has at most ${MAX_NAME_LENGTH} characters`,
        mend: 'write the name without a wildcard',
      }
    : null
}
