import { PolicyError } from '../errors.ts'
import type { Groups } from '../lookup/groups.ts'
import type { RuleTable } from '../lookup/rule-table.ts'
import { quote, show } from '../quote.ts'
import { requireCompiled, type CompiledPolicy, type Conditions } from './compiled-policy.ts'
import { selectRules, type LapsesOf, type WholePolicy } from './select-rules.ts'

/** A part of a policy set that the conditions of its rules do not change. */
export interface Settings {
  /** Whether a request that no rule matches is allowed. */
  readonly observes: boolean
  /** Whether unlisted names are resolved when groups have these flags, by slot. */
  readonly resolvesWith: (flagsOf: Groups['flagsOf']) => readonly boolean[]
  /** Ids of grants that do not count. */
  readonly spent: ReadonlySet<string>
}

/** Null when neither time nor mode nor default can change a decision of the policies. */
export function readConditions(whole: WholePolicy, settings: Settings): Conditions | null {
  const { observes, resolvesWith, spent } = settings
  const instants = listChanges(whole.table)
  const hasShadow = hasShadowRule(whole.table)
  const hasRules = instants.length > 0 || hasShadow
  if (!hasRules && !observes) return null
  const selected = (countsShadow: boolean): Conditions['enforced'] => {
    if (!hasRules) return () => whole
    return oncePerSpan(instants, (now) =>
      selectRules(whole, lapsesAt(whole.table, { now, countsShadow, spent }), resolvesWith),
    )
  }
  const enforced = selected(false)
  const shadowed = selected(true)
  const without = (grants: ReadonlySet<string>): CompiledPolicy => ({
    ...whole,
    conditions: readConditions(whole, { ...settings, spent: grants }),
  })
  const freeze = (now: number): CompiledPolicy => {
    const fixed = enforced(now)
    const conditions: Conditions = {
      instants: [],
      hasShadow,
      observes,
      enforced: () => fixed,
      shadowed: () => shadowed(now),
      frozen: freeze,
      without: (grants) => policyAt(without(grants), now),
    }
    return { ...whole, conditions }
  }
  const frozen = oncePerSpan(instants, freeze)
  return { instants, hasShadow, observes, enforced, shadowed, frozen, without }
}

/**
 * The policies as they are enforced at a time in milliseconds since 1970. Throws
 * `ERR_OPTION_INVALID` when a rule or grant expires and the time is not a finite number.
 */
export function enforcedAt(policy: CompiledPolicy, now: number | undefined): CompiledPolicy {
  const { conditions } = policy
  return conditions === null ? policy : conditions.enforced(readNow(conditions, now))
}

/**
 * The policies as they are at a time in milliseconds since 1970, without the passing of time: they
 * decide without `now` as `policy` does at that time. The result is the same object until the next
 * expiry or begin of a grant, as long as the time does not go back. Takes constant time.
 *
 * Throws `PolicyError` with `ERR_OPTION_INVALID` for a policy that is not compiled, and when a rule
 * expires and `now` is not a finite number.
 */
export function policyAt(policy: CompiledPolicy, now: number): CompiledPolicy {
  requireCompiled('policy', policy)
  const { conditions } = policy
  if (conditions === null || conditions.instants.length === 0) return policy
  return conditions.frozen(readNow(conditions, now))
}

/**
 * The policies as they are without the grants of these ids: spent ones, which explanations show as
 * such. The result decides with the same `now`. Takes constant time. Throws `PolicyError` with
 * `ERR_OPTION_INVALID` for a policy that is not compiled.
 */
export function withoutGrants(policy: CompiledPolicy, ids: ReadonlySet<string>): CompiledPolicy {
  requireCompiled('policy', policy)
  const { conditions } = policy
  return conditions === null || ids.size === 0 ? policy : conditions.without(ids)
}

/** Keeps the last result until a time on the other side of an instant is asked for. */
function oncePerSpan(
  instants: readonly number[],
  create: (now: number) => CompiledPolicy,
): (now: number) => CompiledPolicy {
  let kept: { readonly passed: number; readonly policy: CompiledPolicy } | null = null
  return (now) => {
    const passed = countPassed(instants, now)
    if (kept?.passed !== passed) kept = { passed, policy: create(now) }
    return kept.policy
  }
}

/** Without an expiring rule any time will do. */
export function readNow({ instants }: Conditions, now: unknown): number {
  if (typeof now === 'number' && Number.isFinite(now)) return now
  if (instants.length === 0) return 0
  throw new PolicyError(
    'ERR_OPTION_INVALID',
    `${quote('now')}: ${show(now)} is no time, and a rule expires; give milliseconds since 1970`,
  )
}

/**
 * The first instant after `now` at which a rule expires, or a grant begins or expires, in
 * milliseconds since 1970, or null. Until then every decision stays the same. Throws `PolicyError`
 * with `ERR_OPTION_INVALID` for a policy that is not compiled.
 */
export function nextExpiry(policy: CompiledPolicy, now: number): number | null {
  requireCompiled('policy', policy)
  const { conditions } = policy
  if (conditions === null) return null
  const { instants } = conditions
  return instants[countPassed(instants, readNow(conditions, now))] ?? null
}

/** The later instants at which a rule of any of the policies expires, ascending and distinct. */
export function listInstants(
  policies: readonly CompiledPolicy[],
  now: number | undefined,
): readonly number[] {
  const later = policies.flatMap(({ conditions }) =>
    conditions === null
      ? []
      : conditions.instants.slice(countPassed(conditions.instants, now ?? 0)),
  )
  return [...new Set(later)].toSorted((a, b) => a - b)
}

function listChanges({ rules, beginOf, expiryOf }: RuleTable): readonly number[] {
  const distinct = new Set<number>()
  for (let rule = 0; rule < rules; rule += 1) {
    const [begin, expiry] = [beginOf(rule), expiryOf(rule)]
    if (begin !== -Infinity) distinct.add(begin)
    if (expiry !== Infinity) distinct.add(expiry)
  }
  return [...distinct].toSorted((a, b) => a - b)
}

function hasShadowRule({ rules, isShadow }: RuleTable): boolean {
  for (let rule = 0; rule < rules; rule += 1) if (isShadow(rule)) return true
  return false
}

/** The number of instants that are not after `now`, by binary search. */
function countPassed(instants: readonly number[], now: number): number {
  let [low, high] = [0, instants.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (instants[middle]! <= now) low = middle + 1
    else high = middle
  }
  return low
}

const COUNTS = [] as const
const EXPIRED = ['expired'] as const
const NOT_BEGUN = ['not_begun'] as const
const SHADOW = ['shadow'] as const
const SPENT = ['spent'] as const
const BOTH = ['expired', 'shadow'] as const

interface Selection extends Pick<Settings, 'spent'> {
  readonly now: number
  readonly countsShadow: boolean
}

function lapsesAt(table: RuleTable, { now, countsShadow, spent }: Selection): LapsesOf {
  return (rule) => {
    if (table.isGrant(rule, spent)) return SPENT
    // Only a grant begins, and no grant is of a shadow policy.
    if (table.beginOf(rule) > now) return NOT_BEGUN
    const isShadow = !countsShadow && table.isShadow(rule)
    if (table.expiryOf(rule) > now) return isShadow ? SHADOW : COUNTS
    return isShadow ? BOTH : EXPIRED
  }
}
