import type { Origin, RuleMatch } from '../policy/decision.ts'
import {
  ACTIONS,
  domainOf,
  slotOf,
  type Action,
  type Domain,
  type RuleDecision,
} from '../policy/policy.ts'
import { ITEMS_A_STEP, type Steps } from '../steps.ts'
import { CONDITIONAL, flagOf, isDeny, SAYS, withOpening, type FlagList } from './flags.ts'

/** A rule as input and output of the table. */
export interface RuleEntry {
  readonly policy: PolicyEntry
  readonly id: string
  readonly name: string
  readonly decision: RuleDecision
  readonly actions: readonly Action[]
  /** Patterns as written. */
  readonly resources: readonly string[]
  /** Milliseconds since 1970 before which the rule does not match, or `-Infinity`. */
  readonly beginsMs: number
  /** Milliseconds since 1970 from which the rule does not match, or `Infinity`. */
  readonly expiresMs: number
}

export interface PolicyEntry {
  readonly id: string
  readonly name: string
  readonly origin: Origin
  /** False for local policies on a governed machine: only their denies count. */
  readonly isFullyActive: boolean
  /** True when the rules decide nothing, see `Policy.mode`. */
  readonly isShadow: boolean
}

/**
 * All rules in columns, which saves an object for each rule and resource. Both are numbered in the
 * order of decisions.
 */
export interface RuleTable {
  readonly rules: number
  readonly entryOf: (rule: number) => RuleEntry
  readonly ruleOf: (resource: number) => number
  /** Flags of a rule, see `flags.ts`; 0 when it has no effect. */
  readonly flagsOf: (rule: number) => number
  readonly beginOf: (rule: number) => number
  readonly expiryOf: (rule: number) => number
  readonly isShadow: (rule: number) => boolean
  readonly isGrant: (rule: number, ids: ReadonlySet<string>) => boolean
  readonly matchOf: (resource: number) => RuleMatch
}

interface Columns {
  readonly policies: readonly PolicyEntry[]
  readonly policyOf: Uint32Array
  readonly ids: readonly string[]
  readonly names: readonly string[]
  readonly traits: FlagList
  /** Null when every rule has begun. */
  readonly begins: Float64Array | null
  /** Null when no rule expires. */
  readonly expiries: Float64Array | null
  /** The first resource of each rule, followed by the number of resources. */
  readonly firsts: Uint32Array
  readonly ruleOf: Uint32Array
  readonly texts: readonly string[]
}

/** An additional bit beside the flags of the rule. */
const FILESYSTEM = 0b0001_0000_0000
const INACTIVE = 0b0010_0000_0000

export function* buildRuleTable(entries: readonly RuleEntry[]): Steps<RuleTable> {
  const policies: PolicyEntry[] = []
  const policyOf = new Uint32Array(entries.length)
  const traits = new Uint16Array(entries.length)
  const firsts = new Uint32Array(entries.length + 1)
  const texts: string[] = []
  const ruleOf: number[] = []
  let begins: Float64Array | null = null
  let expiries: Float64Array | null = null
  // By index, because iterators of pairs are slow before V8 compiles the loop.
  // bench: decide/compile
  for (let rule = 0; rule < entries.length; rule += 1) {
    if (rule % ITEMS_A_STEP === 0) yield
    const entry = entries[rule]!
    if (policies.at(-1) !== entry.policy) policies.push(entry.policy)
    policyOf[rule] = policies.length - 1
    traits[rule] = traitsOf(entry)
    const { beginsMs, expiresMs, resources } = entry
    if (beginsMs !== -Infinity)
      (begins ??= new Float64Array(entries.length).fill(-Infinity))[rule] = beginsMs
    if (expiresMs !== Infinity)
      (expiries ??= new Float64Array(entries.length).fill(Infinity))[rule] = expiresMs
    for (let index = 0; index < resources.length; index += 1) {
      texts.push(resources[index]!)
      ruleOf.push(rule)
    }
    firsts[rule + 1] = texts.length
  }
  return createTable({
    policies,
    policyOf,
    ids: entries.map(({ id }) => id),
    names: entries.map(({ name }) => name),
    traits,
    begins,
    expiries,
    firsts,
    ruleOf: Uint32Array.from(ruleOf),
    texts,
  })
}

function traitsOf({ actions, decision, policy, beginsMs, expiresMs }: RuleEntry): number {
  let traits = decision === 'deny' || policy.isFullyActive ? 0 : INACTIVE
  if (beginsMs !== -Infinity || expiresMs !== Infinity || policy.isShadow) traits |= CONDITIONAL
  for (let index = 0; index < actions.length; index += 1) {
    const action = actions[index]!
    traits |= flagOf(decision, slotOf(action))
    if (domainOf(action) === 'filesystem') traits |= FILESYSTEM
  }
  return traits
}

function createTable(columns: Columns): RuleTable {
  const { policies, policyOf, ids, names, traits, begins, expiries, firsts, ruleOf, texts } =
    columns
  const decisionOf = (rule: number): RuleDecision => (isDeny(traits[rule]!) ? 'deny' : 'allow')
  return {
    rules: ids.length,
    entryOf(rule) {
      const domain: Domain = (traits[rule]! & FILESYSTEM) === 0 ? 'network' : 'filesystem'
      const decision = decisionOf(rule)
      return {
        policy: policies[policyOf[rule]!]!,
        id: ids[rule]!,
        name: names[rule]!,
        decision,
        actions: ACTIONS.filter(
          (action) =>
            domainOf(action) === domain && (traits[rule]! & flagOf(decision, slotOf(action))) !== 0,
        ),
        resources: texts.slice(firsts[rule], firsts[rule + 1]),
        beginsMs: begins?.[rule] ?? -Infinity,
        expiresMs: expiries?.[rule] ?? Infinity,
      }
    },
    ruleOf: (resource) => ruleOf[resource]!,
    flagsOf(rule) {
      if ((traits[rule]! & INACTIVE) !== 0) return 0
      const flags = traits[rule]! & (SAYS | CONDITIONAL)
      return policies[policyOf[rule]!]!.origin === 'grant' ? flags : withOpening(flags)
    },
    beginOf: (rule) => begins?.[rule] ?? -Infinity,
    expiryOf: (rule) => expiries?.[rule] ?? Infinity,
    isShadow: (rule) => policies[policyOf[rule]!]!.isShadow,
    isGrant: (rule, grants) =>
      policies[policyOf[rule]!]!.origin === 'grant' && grants.has(ids[rule]!),
    matchOf(resource) {
      const rule = ruleOf[resource]!
      const policy = policies[policyOf[rule]!]!
      return {
        policy_id: policy.id,
        policy_name: policy.name,
        rule_id: ids[rule]!,
        rule_name: names[rule]!,
        decision: decisionOf(rule),
        resource: texts[resource]!,
        origin: policy.origin,
      }
    },
  }
}
