import { parseAddress, type IpAddress } from '../address/ip-address.ts'
import { machineClasses } from '../address/protected-address.ts'
import { PolicyError, type PolicyProblem } from '../errors.ts'
import { parsePath, segmentsOf } from '../path/path.ts'
import { parseNetworkPattern } from '../pattern/parse-network-pattern.ts'
import { parsePathPattern, placePattern, type PathMeaning } from '../pattern/path-pattern.ts'
import { domainOf, type NetworkAction, type Policy, type Rule } from '../policy/policy.ts'
import { quote, show } from '../quote.ts'
import type { CompiledPolicy, CompiledResource, CompiledRule } from './compiled-policy.ts'
import type { Origin } from './decision.ts'
import { findProblems } from './find-problems.ts'

/** Everything an evaluation depends on, besides the request. */
export interface PolicySet {
  /** The organization's effective policies (see `effectivePolicies`). */
  readonly policies?: readonly Policy[] | undefined
  /** The user's own policies; on a governed machine only their denies count. Scope is ignored. */
  readonly local?: readonly Policy[] | undefined
  /** Whether an organization governs the machine. Default: true when `policies` is present. */
  readonly governed?: boolean | undefined
  /** Canonical absolute path that `~` stands for; without it rules with `~` match nothing. */
  readonly home?: string | undefined
  /** The machine's own addresses, which are protected. Any IP spelling. */
  readonly machine_addresses?: readonly string[] | undefined
  /** Whether enforcement points resolve names that no rule allows. Default false. */
  readonly resolve_unlisted_names?: boolean | undefined
  /** Revision of the bundle, echoed in every decision. Default null. */
  readonly revision?: number | null | undefined
}

export interface CompileOptions {
  /** False for file systems that ignore letter case. Default true. */
  readonly caseSensitive?: boolean | undefined
}

/**
 * Compiles policies for decisions: all of them or none. O(resources).
 *
 * Throws `PolicyError` with `ERR_POLICY_INVALID` and every problem found, or `ERR_OPTION_INVALID`
 * when `home` or `machine_addresses` is not canonical, or a list of the set is none.
 */
export function compilePolicy(set: PolicySet, options: CompileOptions = {}): CompiledPolicy {
  const caseSensitive = options.caseSensitive ?? true
  for (const member of ['policies', 'local', 'machine_addresses'] as const) {
    const list: unknown = set[member]
    if (list !== undefined && !Array.isArray(list))
      throw invalidOption(member, `${show(list)} is not an array`)
  }
  const machine = machineClasses((set.machine_addresses ?? []).map(readMachineAddress))
  const meaning: PathMeaning = { home: readHome(set.home), caseSensitive }
  const governed = set.governed ?? set.policies !== undefined
  const sources = [
    ...(set.policies ?? []).map((policy) => ({ policy, origin: 'org' as const })),
    ...(set.local ?? []).map((policy) => ({ policy, origin: 'local' as const })),
  ]
  const problems = sources.flatMap(({ policy, origin }) => findProblems(policy, origin))
  const [first] = problems
  if (first !== undefined)
    throw new PolicyError('ERR_POLICY_INVALID', summarize(first, problems), problems)
  const rules = sources
    .filter(({ origin }) => governed || origin === 'local')
    .flatMap((source) =>
      rulesOf(source.policy).map((rule) => compileRule(source, rule, governed, meaning)),
    )
    .toSorted(byIdentity)
  return {
    revision: set.revision ?? null,
    rules,
    resolvesUnlisted: {
      'connect:tcp': resolvesUnlisted('connect:tcp', rules, set),
      'connect:udp': resolvesUnlisted('connect:udp', rules, set),
    },
    machine,
    caseSensitive,
  }
}

function rulesOf(policy: Policy): readonly Rule[] {
  return policy.allowlist_v0?.rules ?? []
}

function summarize(first: PolicyProblem, all: readonly PolicyProblem[]): string {
  const more = all.length > 1 ? ` (and ${all.length - 1} more)` : ''
  return `policy ${quote(first.policy_name)} rule ${quote(first.rule_name)} ${first.member}: ${first.message}${more}`
}

function compileRule(
  { policy, origin }: { readonly policy: Policy; readonly origin: Origin },
  rule: Rule,
  governed: boolean,
  meaning: PathMeaning,
): CompiledRule {
  return {
    identity: {
      policy_id: policy.id,
      policy_name: policy.name,
      rule_id: rule.id,
      rule_name: rule.name,
      decision: rule.decision,
    },
    origin,
    actions: [...rule.actions],
    domain: domainOf(rule.actions[0] ?? 'read'),
    resources: rule.resources.flatMap((text) => compileResource(text, rule, meaning)),
    active: origin === 'org' || !governed || rule.decision === 'deny',
  }
}

/** Empty only for a resource that `findProblems` has refused already. */
function compileResource(text: string, rule: Rule, meaning: PathMeaning): CompiledResource[] {
  const [action] = rule.actions
  if (action !== undefined && domainOf(action) === 'filesystem') {
    const pattern = parsePathPattern(text)
    return pattern.ok
      ? [{ domain: 'filesystem', text, segments: placePattern(pattern.value, meaning) }]
      : []
  }
  const pattern = parseNetworkPattern(text)
  return pattern.ok ? [{ domain: 'network', text, pattern: pattern.value }] : []
}

/** By ids, as decisions list rules; the rest only so that the order of the input never matters. */
function byIdentity(a: CompiledRule, b: CompiledRule): number {
  const key = ({ identity, origin, resources }: CompiledRule): readonly string[] => [
    identity.policy_id,
    identity.rule_id,
    origin,
    identity.policy_name,
    identity.rule_name,
    ...resources.map(({ text }) => text),
  ]
  const keysB = key(b)
  for (const [index, left] of key(a).entries()) {
    const right = keysB[index]
    if (right === undefined || left > right) return 1
    if (left < right) return -1
  }
  return 0
}

function resolvesUnlisted(
  action: NetworkAction,
  rules: readonly CompiledRule[],
  set: PolicySet,
): boolean {
  if (set.resolve_unlisted_names === true) return true
  return rules.some(
    (rule) =>
      rule.active &&
      rule.identity.decision === 'allow' &&
      rule.actions.includes(action) &&
      rule.resources.some(isCatchAll),
  )
}

function isCatchAll(resource: CompiledResource): boolean {
  return (
    resource.domain === 'network' &&
    resource.pattern.kind === 'range' &&
    resource.pattern.range.prefix === 0
  )
}

function readMachineAddress(text: string): IpAddress {
  const address = typeof text === 'string' ? parseAddress(text) : null
  if (address !== null) return address
  throw invalidOption(
    'machine_addresses',
    `${show(text)} is not an IP address; write one such as \`192.0.2.7\` or \`2001:db8::1\``,
  )
}

function readHome(home: string | undefined): readonly string[] | null {
  if (home === undefined) return null
  if (typeof home !== 'string') throw invalidOption('home', `${show(home)} is not a string`)
  const path = parsePath(home)
  if (path.ok && path.value === home) return segmentsOf(home)
  const why = path.ok ? 'it ends in `/`' : path.message
  throw invalidOption(
    'home',
    `${quote(home)} is not a canonical path: ${why}; write one such as \`/home/dev\``,
  )
}

function invalidOption(member: keyof PolicySet, message: string): PolicyError {
  return new PolicyError('ERR_OPTION_INVALID', `${quote(member)}: ${message}`)
}
