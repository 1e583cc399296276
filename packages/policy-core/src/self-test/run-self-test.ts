import type { CompiledPolicy } from '../decision/compiled-policy.ts'
import { decideByAllRules } from '../decision/decide.ts'
import type { CanonicalRequest, Decision } from '../policy/decision.ts'
import type { Policy, Rule, RuleDecision } from '../policy/policy.ts'
import type { SelfTestVector } from './self-test.ts'

/** A vector that the evaluator fails. */
export interface SelfTestFailure {
  readonly policy_id: string
  readonly vector: SelfTestVector
  /** Ids of rules that match the request by the vector; `miss` has those that do not. */
  readonly match: readonly string[]
  readonly miss: readonly string[]
  /** The decision on the vector's request, with the home directory inserted. */
  readonly decision: Decision
}

/** The tested evaluator: the result of `compilePolicy` for the policy and any others. */
export interface SelfTestSubject {
  readonly compiled: CompiledPolicy
  /** The home given to the compiler. Without it vectors with `~` are left out. */
  readonly home?: string | undefined
}

/** With a longer home the requests of vectors could exceed the limit for paths. */
const MAX_HOME = 512

/**
 * Decides the requests of the vectors and returns the first contradicting decision, or
 * null. Other policies in the same evaluator cannot cause a contradiction: a rule that does not
 * match is never among the deciding rules. A matching deny always is, and so is a matching allow
 * unless some rule denies.
 *
 * All rules are tested as if they were enforced, also expired ones and those of shadow policies, so
 * the result does not depend on the time.
 */
export function runSelfTest(
  { compiled, home }: SelfTestSubject,
  policy: Policy,
  vectors: readonly SelfTestVector[],
): SelfTestFailure | null {
  const rules = policy.allowlist_v0?.rules ?? []
  const known = { rules, decisions: new Map(rules.map(({ id, decision }) => [id, decision])) }
  for (const vector of vectors) {
    const request = requestOf(vector, home)
    if (request === null) continue
    const decision = decideByAllRules(compiled, request)
    if (holds(vector, decision, known, policy.id)) continue
    const { match, miss } = vector
    const idsOf = (indices: readonly number[]) => indices.flatMap((index) => rules[index]?.id ?? [])
    return { policy_id: policy.id, vector, match: idsOf(match), miss: idsOf(miss), decision }
  }
  return null
}

function requestOf(vector: SelfTestVector, home: string | undefined): CanonicalRequest | null {
  if (vector.kind === 'path') {
    const { action, path } = vector
    if (!path.startsWith('~')) return { action, path }
    if (home === undefined || home.length > MAX_HOME) return null
    const below = path.slice(1)
    return { action, path: home === '/' ? below || home : `${home}${below}` }
  }
  const { action, host, port, address } = vector
  return { action, host, port, ...(address === undefined ? {} : { address }) }
}

/** The usual result, shared because vectors run before every change takes effect. */
const NONE: ReadonlySet<string> = new Set()

/** The rules of a policy by index and by id. */
interface Known {
  readonly rules: readonly Rule[]
  readonly decisions: ReadonlyMap<string, RuleDecision>
}

function holds(
  vector: SelfTestVector,
  { decision, reason, rules: deciding }: Decision,
  { rules, decisions }: Known,
  policyId: string,
): boolean {
  const { match, miss } = vector
  if (!isAbout(vector, rules)) return false
  const own = deciding.filter((each) => each.origin === 'org' && each.policy_id === policyId)
  if (own.some((each) => decisions.get(each.rule_id) !== each.decision)) return false
  const named = namesOf(own)
  const isNamed = (index: number): boolean => named.has(rules[index]?.id ?? '')
  if (reason === 'invalid_request' || miss.some(isNamed)) return false
  if (match.length === 0) return true
  const denying = match.filter((index) => rules[index]?.decision === 'deny')
  if (denying.length > 0) {
    if (decision !== 'deny' || reason !== 'rule') return false
    // After a deny of the name the address is not evaluated.
    return ('address' in vector && vector.address !== undefined) || denying.every(isNamed)
  }
  return decision === 'allow' ? match.every(isNamed) : reason !== 'default_deny'
}

function isAbout({ match, miss }: SelfTestVector, rules: readonly Rule[]): boolean {
  const isThere = (index: number): boolean => rules[index] !== undefined
  return match.every(isThere) && miss.every(isThere)
}

function namesOf(deciding: Decision['rules']): ReadonlySet<string> {
  return deciding.length === 0 ? NONE : new Set(deciding.map(({ rule_id }) => rule_id))
}
