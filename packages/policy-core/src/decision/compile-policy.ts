import { machineClasses, protectedClasses } from '../address/protected-address.ts'
import { PolicyError, type PolicyProblem } from '../errors.ts'
import { buildAddressIndex, type AddressPattern } from '../lookup/address/address-index.ts'
import { buildNameIndex } from '../lookup/name/name-index.ts'
import { buildPathIndex } from '../lookup/path/path-index.ts'
import { groupResources } from '../lookup/group-resources.ts'
import { allows } from '../lookup/flags.ts'
import { Verdicts } from '../lookup/verdicts.ts'
import { buildRuleTable } from '../lookup/rule-table.ts'
import type { PathMeaning } from '../pattern/path-pattern.ts'
import { createRememberingReader, type PatternReader } from '../pattern/pattern-reader.ts'
import { policyOfGrants } from '../policy/grant.ts'
import { NETWORK_ACTIONS, slotOf } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import { runSteps, type Steps } from '../steps.ts'
import { checkSet, readHome, readMachineAddresses } from './check-set.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import { readConditions } from './conditions.ts'
import { findGrantProblems } from './find-grant-problems.ts'
import { findProblems } from './find-problems.ts'
import { createLinearRules } from './linear-rules.ts'
import { refusePathCost } from './path-cost.ts'
import type { CompileOptions, PolicySet } from './policy-set.ts'
import type { WholePolicy } from './select-rules.ts'
import { sortRules, type PolicySource } from './sort-rules.ts'

/**
 * Compiles policies for decisions. One invalid policy refuses the whole set. O(resources).
 *
 * Throws `PolicyError` with `ERR_POLICY_INVALID` and every problem found, or `ERR_OPTION_INVALID`
 * when `set`, `options` or one of their members is invalid.
 */
export function compilePolicy(set: PolicySet, options: CompileOptions = {}): CompiledPolicy {
  return runSteps(compileInSteps(set, options))
}

/**
 * Like `compilePolicy`, but yields after each bounded part of the work, so that a program can serve
 * other requests meanwhile. `set` must not change until the end. Errors are thrown from `next`.
 */
export function compileInSteps(
  set: PolicySet,
  options: CompileOptions = {},
): Steps<CompiledPolicy> {
  return compileWith(createRememberingReader, set, options)
}

/** Compiles one policy set after another. */
export interface Compiler {
  /** Like `compilePolicy`, but faster for resources that were in the last set. */
  readonly compile: (set: PolicySet, options?: CompileOptions) => CompiledPolicy
}

/**
 * Creates a compiler that remembers the resources of its last set. It suits programs that compile
 * similar sets repeatedly, such as an editor or a server that answers "what if". It keeps the
 * parsed resources, up to 0.7 kB each.
 */
export function createCompiler(): Compiler {
  const limited = createRememberingReader(true)
  const unlimited = createRememberingReader(false)
  const readerFor = (limits: boolean): PatternReader => (limits ? limited : unlimited)
  return {
    compile(set, options = {}) {
      try {
        return runSteps(compileWith(readerFor, set, options))
      } finally {
        // Refused sets are remembered too: while a user types, most sets are invalid.
        limited.forgetUnread()
        unlimited.forgetUnread()
      }
    },
  }
}

function* compileWith(
  readerFor: (limits: boolean) => PatternReader,
  set: PolicySet,
  options: CompileOptions,
): Steps<CompiledPolicy> {
  checkSet(set, options)
  const limits = options.patternLimits ?? true
  const reader = readerFor(limits)
  const caseSensitive = options.caseSensitive ?? true
  const machine = machineClasses(readMachineAddresses(set.machine_addresses))
  const meaning: PathMeaning = { home: readHome(set.home), caseSensitive }
  const governed = set.governed ?? set.policies !== undefined
  const org = { policies: set.policies ?? [], origin: 'org', isFullyActive: true } as const
  const local = { policies: set.local ?? [], origin: 'local', isFullyActive: !governed } as const
  const problems = yield* findAll(org, reader)
  problems.push(...(yield* findAll(local, reader)))
  refuseProblems([...problems, ...findGrantProblems(set.grants ?? [], reader)])
  const entries = yield* sortRules(governed ? [...grantSource(set), org, local] : [local])
  if (limits) yield* refusePathCost(entries)
  const table = yield* buildRuleTable(entries)
  const { groups, domains, ranges, paths } = yield* groupResources(entries, table, reader, meaning)
  const { flagsOf } = groups
  const resolvesWith = findResolved(set, ranges)
  const whole: WholePolicy = {
    revision: set.revision ?? null,
    table,
    groups,
    verdicts: new Verdicts(table, groups),
    names: yield* buildNameIndex(domains, flagsOf),
    addresses: yield* buildAddressIndex(
      ranges,
      protectedClasses(machine).map(({ range }) => range),
      flagsOf,
    ),
    paths: yield* buildPathIndex(paths, flagsOf),
    linear: createLinearRules(table, meaning),
    resolvesUnlisted: resolvesWith(flagsOf),
    machine,
    caseSensitive,
    conditions: null,
  }
  // The default is a setting of the organization.
  const observes = governed && set.default === 'observe'
  const conditions = readConditions(whole, { observes, resolvesWith, spent: new Set() })
  return conditions === null ? whole : { ...whole, conditions }
}

/** A set without grants has no further policy. */
function grantSource({ grants = [] }: PolicySet): readonly PolicySource[] {
  if (grants.length === 0) return []
  return [{ policies: [policyOfGrants(grants)], origin: 'grant', isFullyActive: true }]
}

function* findAll(source: PolicySource, reader: PatternReader): Steps<PolicyProblem[]> {
  const { policies, origin } = source
  const list = origin === 'org' ? 'policies' : 'local'
  const problems: PolicyProblem[][] = []
  // By index, because a sparse array has holes.
  for (let index = 0; index < policies.length; index += 1)
    problems.push(yield* findProblems(policies[index]!, origin, `${list}[${index}]`, reader))
  return problems.flat()
}

function refuseProblems(problems: readonly PolicyProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const { policy_name, rule_name, member } = first
  const policy = policy_name === '' ? '' : `policy ${quote(policy_name)} `
  const rule = rule_name === '' ? '' : `rule ${quote(rule_name)} `
  const summary = `${policy}${rule}${member}: ${first.message}${more}`
  throw new PolicyError('ERR_POLICY_INVALID', summary, problems)
}

/**
 * Finds, from the flags of groups, the actions that resolve unlisted names: all if the set says
 * so, else those for which a range allows every address.
 */
function findResolved(
  set: PolicySet,
  ranges: readonly AddressPattern[],
): (flagsOf: (group: number) => number) => CompiledPolicy['resolvesUnlisted'] {
  const resolvesAll = set.resolve_unlisted_names === true
  const catchAlls = ranges.flatMap(({ range, groups }) =>
    range.prefix === 0 && groups.everyPort !== null ? [groups.everyPort] : [],
  )
  return (flagsOf) =>
    NETWORK_ACTIONS.map(
      (action) => resolvesAll || catchAlls.some((group) => allows(flagsOf(group), slotOf(action))),
    )
}
