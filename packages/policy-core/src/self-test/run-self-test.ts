import type { CompiledPolicy } from '../decision/compiled-policy.ts'
import { decide } from '../decision/decide.ts'
import type { CanonicalRequest, Decision } from '../decision/decision.ts'
import type { Policy, Rule, RuleDecision } from '../policy/policy.ts'
import type { SelfTestVector } from './self-test.ts'

/** A vector that the evaluator does not hold to. */
export interface SelfTestFailure {
  readonly policy_id: string
  readonly vector: SelfTestVector
  /** Ids of rules that match the request, and of those that do not, as the vector has it. */
  readonly match: readonly string[]
  readonly miss: readonly string[]
  /** Its request is the vector's, with the home directory put in. */
  readonly decision: Decision
}

/** Which evaluator is tested: `compilePolicy` has made it of the policy and any others. */
export interface SelfTestSubject {
  readonly compiled: CompiledPolicy
  /** As it was given for compiling; without it vectors with `~` are left out. */
  readonly home?: string | undefined
}

/** With longer ones the requests of vectors could be longer than a path may be. */
const MAX_HOME = 512

/**
 * Asks `decide` what the vectors of a policy ask, and finds the first answer that they do not go
 * with; null when there is none. Whatever other policies were compiled with it may decide as they
 * do: a rule that does not match is never among the deciding ones, one that denies and matches
 * always is, and so is one that allows and matches, unless something denies.
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
    const decision = decide(compiled, request)
    if (holds(vector, decision, known, policy.id)) continue
    const { match, miss } = vector
    const idsOf = (places: readonly number[]) => places.flatMap((place) => rules[place]?.id ?? [])
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

/** What most vectors find: they are asked in every change, before it is in force. */
const NONE: ReadonlySet<string> = new Set()

/** The rules of a policy by place and by id. */
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
  const isNamed = (place: number): boolean => named.has(rules[place]?.id ?? '')
  if (reason === 'invalid_request' || miss.some(isNamed)) return false
  if (match.length === 0) return true
  const denying = match.filter((place) => rules[place]?.decision === 'deny')
  if (denying.length > 0) {
    if (decision !== 'deny' || reason !== 'rule') return false
    // After a deny of the name the address is not looked at.
    return ('address' in vector && vector.address !== undefined) || denying.every(isNamed)
  }
  return decision === 'allow' ? match.every(isNamed) : reason !== 'default_deny'
}

function isAbout({ match, miss }: SelfTestVector, rules: readonly Rule[]): boolean {
  const isThere = (place: number): boolean => rules[place] !== undefined
  return match.every(isThere) && miss.every(isThere)
}

function namesOf(deciding: Decision['rules']): ReadonlySet<string> {
  return deciding.length === 0 ? NONE : new Set(deciding.map(({ rule_id }) => rule_id))
}
