import { machineClasses, protectedClasses } from '../address/protected-address.ts'
import { PolicyError, type PolicyProblem } from '../errors.ts'
import { buildAddressIndex, type AddressPattern } from '../lookup/address/address-index.ts'
import { buildNameIndex } from '../lookup/name/name-index.ts'
import { buildPathIndex } from '../lookup/path/path-index.ts'
import { groupResources } from '../lookup/group-resources.ts'
import { allows, type ActionSlot } from '../lookup/flags.ts'
import { Verdicts } from '../lookup/verdicts.ts'
import { buildRuleTable } from '../lookup/rule-table.ts'
import type { PathMeaning } from '../pattern/path-pattern.ts'
import { createRememberingReader, type PatternReader } from '../pattern/pattern-reader.ts'
import { NETWORK_ACTIONS, slotOf } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import { runSteps, type Steps } from '../steps.ts'
import { checkSet, readHome, readMachineAddresses } from './check-set.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import { findProblems } from './find-problems.ts'
import { createLinearRules } from './linear-rules.ts'
import { refusePathCost } from './path-cost.ts'
import type { CompileOptions, PolicySet } from './policy-set.ts'
import { sortRules, type PolicySource } from './sort-rules.ts'

/**
 * Compiles policies for decisions: all of them or none. O(resources).
 *
 * Throws `PolicyError` with `ERR_POLICY_INVALID` and every problem found, or `ERR_OPTION_INVALID`
 * when `set`, `options` or a member of them is not what it has to be.
 */
export function compilePolicy(set: PolicySet, options: CompileOptions = {}): CompiledPolicy {
  return runSteps(compileInSteps(set, options))
}

/**
 * The same, with pauses: it yields after each bounded part of the work, and returns what is
 * compiled. For a program that has to answer others meanwhile. `set` must not change until the end.
 * Throws from
 * `next`, as `compilePolicy` does.
 */
export function compileInSteps(
  set: PolicySet,
  options: CompileOptions = {},
): Steps<CompiledPolicy> {
  return compileWith(createRememberingReader, set, options)
}

/** Compiles one policy set after another. */
export interface Compiler {
  /** The same as `compilePolicy`, in less time for whatever was in the last set already. */
  readonly compile: (set: PolicySet, options?: CompileOptions) => CompiledPolicy
}

/**
 * A compiler that remembers the resources of the last set it was given, for whoever compiles
 * nearly the same again and again: an editor, a server that answers "what if". It holds on to what
 * it parsed: measured, up to 0.7 kB a resource.
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
        // Also of a set that is refused: somebody who types sends nothing else for a while.
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
  const reader = readerFor(options.patternLimits ?? true)
  const caseSensitive = options.caseSensitive ?? true
  const machine = machineClasses(readMachineAddresses(set.machine_addresses))
  const meaning: PathMeaning = { home: readHome(set.home), caseSensitive }
  const governed = set.governed ?? set.policies !== undefined
  const org = { policies: set.policies ?? [], origin: 'org', isFullyActive: true } as const
  const local = { policies: set.local ?? [], origin: 'local', isFullyActive: !governed } as const
  const problems = yield* findAll(org, reader)
  refuseProblems([...problems, ...(yield* findAll(local, reader))])
  const entries = yield* sortRules(governed ? [org, local] : [local])
  if (options.patternLimits ?? true) yield* refusePathCost(entries)
  const table = yield* buildRuleTable(entries)
  const { groups, domains, ranges, paths } = yield* groupResources(entries, table, reader, meaning)
  const { flagsOf } = groups
  return {
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
    resolvesUnlisted: findResolved(set, ranges, flagsOf),
    machine,
    caseSensitive,
  }
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
 * The actions for which unlisted names are resolved: as set, or where a range allows every address.
 */
function findResolved(
  set: PolicySet,
  ranges: readonly AddressPattern[],
  flagsOf: (group: number) => number,
): CompiledPolicy['resolvesUnlisted'] {
  const catchAlls = ranges.filter(({ range }) => range.prefix === 0)
  const isOpen = ({ groups }: AddressPattern, slot: ActionSlot): boolean =>
    groups.everyPort !== null && allows(flagsOf(groups.everyPort), slot)
  const isResolved = (slot: ActionSlot): boolean =>
    set.resolve_unlisted_names === true || catchAlls.some((range) => isOpen(range, slot))
  return NETWORK_ACTIONS.map((action) => isResolved(slotOf(action)))
}
