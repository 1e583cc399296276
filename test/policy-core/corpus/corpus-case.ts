import { readdirSync, readFileSync } from 'node:fs'
import type { Action, Policy, Rule, RuleDecision, ShadowDecision } from '@palisade/policy-core'
import { effectivePolicies } from '@palisade/policy-core'
import type {
  CompileOptions,
  PolicySet,
} from '../../../packages/policy-core/src/decision/policy-set.ts'
import type { ReferenceDecision } from '../reference/reference-decide.ts'

type WrittenRule = string | Omit<Rule, 'id' | 'name'>

/** One case of a corpus file. README.md explains the members. */
export interface CorpusCase {
  readonly description: string
  readonly org?: readonly WrittenRule[]
  readonly local?: readonly WrittenRule[]
  readonly set?: PolicySet
  readonly options?: CompileOptions
  readonly user_teams?: readonly string[]
  /** RFC 3339. */
  readonly now?: string
  readonly request?: unknown
  readonly raw_request?: unknown
  readonly expected: Omit<Partial<ReferenceDecision>, 'rules' | 'shadow'> & {
    readonly rules?: readonly string[]
    readonly shadow?: Omit<ShadowDecision, 'rules'> & { readonly rules?: readonly string[] }
  }
}

/** A resource that rules reject, with parts of the error message. */
export interface RejectedPattern {
  readonly action: Action
  readonly resource: string
  readonly message?: readonly string[]
}

/** The cases by file name without its extension, except for the rejected patterns. */
export function readCorpus(): ReadonlyMap<string, readonly CorpusCase[]> {
  const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.json'))
  return new Map(
    names
      .filter((name) => name !== 'rejected-patterns.json')
      .map((name) => [name.slice(0, -'.json'.length), readJson(name) as CorpusCase[]]),
  )
}

export function readRejectedPatterns(): readonly RejectedPattern[] {
  return readJson('rejected-patterns.json') as RejectedPattern[]
}

/** Expands the short forms in the policy set of a case. */
export function policySetOf({ org, local, set, user_teams }: CorpusCase): PolicySet {
  const policies = org === undefined ? set?.policies : [policyOf('pol_org', 'rule', org)]
  return {
    ...set,
    ...(policies === undefined ? {} : { policies: effectivePolicies(policies, user_teams) }),
    ...(local === undefined ? {} : { local: [policyOf('pol_local', 'mine', local)] }),
  }
}

/** Expands the request of a case from `<action> <host>:<port>` or `<action> <path>`. */
export function requestOf({ request, raw_request }: CorpusCase): unknown {
  if (raw_request !== undefined) return raw_request
  if (typeof request !== 'string') return request
  const [, action, target = ''] = /^(\S+) (.*)$/s.exec(request) ?? []
  if (target.startsWith('/')) return { action, path: target }
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(target) ?? []
  return { action, host, port: Number(port) }
}

/** The time of a case, in milliseconds. */
export function nowOf({ now }: CorpusCase): number | undefined {
  return now === undefined ? undefined : Date.parse(now)
}

/** Expands the expected decision of a case. Missing members have the values of a default deny. */
export function expectedOf(
  { expected }: CorpusCase,
  set: PolicySet,
  decision: ReferenceDecision,
): ReferenceDecision {
  const { shadow, ...others } = expected
  const rulesOf = ({ rules = [] }: { readonly rules?: readonly string[] }) =>
    rules.map((text) => ruleMatchOf(text, set))
  return {
    request: decision.request,
    revision: null,
    stale: false,
    decision: 'deny',
    reason: 'default_deny',
    ...others,
    rules: rulesOf(expected),
    ...(shadow === undefined ? {} : { shadow: { ...shadow, rules: rulesOf(shadow) } }),
  }
}

function ruleMatchOf(text: string, set: PolicySet): ReferenceDecision['rules'][number] {
  const [, policyId, ruleId, resource] = /^(?:(pol_\w+)\/)?(\S+) (.*)$/s.exec(text) ?? []
  for (const origin of ['org', 'local'] as const) {
    for (const policy of (origin === 'org' ? set.policies : set.local) ?? []) {
      const rule = policy.allowlist_v0?.rules.find(({ id }) => id === ruleId)
      if (rule === undefined || resource === undefined) continue
      if (policyId !== undefined && policyId !== policy.id) continue
      return {
        policy_id: policy.id,
        policy_name: policy.name,
        rule_id: rule.id,
        rule_name: rule.name,
        decision: rule.decision,
        resource,
        origin,
      }
    }
  }
  const grant = set.grants?.find(({ id }) => id === ruleId)
  if (grant !== undefined && resource !== undefined)
    return {
      policy_id: 'grants',
      policy_name: 'access grants',
      rule_id: grant.id,
      rule_name: grant.id,
      decision: 'allow',
      resource,
      origin: 'grant',
    }
  throw new Error(`no effective rule of the case is called \`${text}\``)
}

function policyOf(id: string, prefix: string, rules: readonly WrittenRule[]): Policy {
  return {
    id,
    name: `policy ${id}`,
    allowlist_v0: {
      rules: rules.map((written, index) => {
        const ruleId = `${prefix}_${index + 1}`
        return { id: ruleId, name: `rule ${ruleId}`, ...writtenOut(written) }
      }),
    },
  }
}

/**
 * Parses `<decision> <action>[,<action>] <resource>…`. Resources with spaces need the long form.
 */
function writtenOut(rule: WrittenRule): Omit<Rule, 'id' | 'name'> {
  if (typeof rule !== 'string') return rule
  const [decision, actions = '', ...resources] = rule.split(' ')
  return {
    decision: decision as RuleDecision,
    actions: actions.split(',') as Action[],
    resources,
  }
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))
}
