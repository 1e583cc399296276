import { readdirSync, readFileSync } from 'node:fs'
import type { Action, Policy, Rule, RuleDecision } from '@palisade/policy-core'
import { effectivePolicies } from '@palisade/policy-core'
import type {
  CompileOptions,
  PolicySet,
} from '../../../packages/policy-core/src/decision/policy-set.ts'
import type { ReferenceDecision } from '../reference/reference-decide.ts'

type WrittenRule = string | Omit<Rule, 'id' | 'name'>

/** One case as it stands in a file; README.md explains the members. */
export interface CorpusCase {
  readonly description: string
  readonly org?: readonly WrittenRule[]
  readonly local?: readonly WrittenRule[]
  readonly set?: PolicySet
  readonly options?: CompileOptions
  readonly user_teams?: readonly string[]
  readonly request?: unknown
  readonly raw_request?: unknown
  readonly expected: Omit<Partial<ReferenceDecision>, 'rules'> & {
    readonly rules?: readonly string[]
  }
}

/** A resource that no rule may have, and pieces of the message that says so. */
export interface RejectedPattern {
  readonly action: Action
  readonly resource: string
  readonly message?: readonly string[]
}

/** The cases of every file but the rejected patterns, by file name without its ending. */
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

/** The policy set of a case with its short forms written out. */
export function policySetOf({ org, local, set, user_teams }: CorpusCase): PolicySet {
  const policies = org === undefined ? set?.policies : [policyOf('pol_org', 'rule', org)]
  return {
    ...set,
    ...(policies === undefined ? {} : { policies: effectivePolicies(policies, user_teams) }),
    ...(local === undefined ? {} : { local: [policyOf('pol_local', 'mine', local)] }),
  }
}

/** The request of a case; `<action> <host>:<port>` and `<action> <path>` are written out. */
export function requestOf({ request, raw_request }: CorpusCase): unknown {
  if (raw_request !== undefined) return raw_request
  if (typeof request !== 'string') return request
  const [, action, target = ''] = /^(\S+) (.*)$/s.exec(request) ?? []
  if (target.startsWith('/')) return { action, path: target }
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(target) ?? []
  return { action, host, port: Number(port) }
}

/** What a case expects, in full: members that it leaves out are those of a plain answer. */
export function expectedOf(
  { expected }: CorpusCase,
  set: PolicySet,
  decision: ReferenceDecision,
): ReferenceDecision {
  return {
    request: decision.request,
    revision: null,
    stale: false,
    decision: 'deny',
    reason: 'default_deny',
    ...expected,
    rules: (expected.rules ?? []).map((text) => ruleMatchOf(text, set)),
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

/** `<decision> <action>[,<action>] <resource>…`; resources with spaces need the long form. */
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
