import { machineClasses, protectedClasses } from '../address/protected-address.ts'
import { PolicyError, type PolicyProblem } from '../errors.ts'
import { buildAddressIndex, type AddressPattern } from '../lookup/address/address-index.ts'
import { EmbeddingIndex } from '../lookup/address/embedding-index.ts'
import { AddressReader } from '../lookup/address/address-reader.ts'
import { buildNameIndex } from '../lookup/name/name-index.ts'
import { buildPathIndex } from '../lookup/path/path-index.ts'
import { groupResources } from '../lookup/group-resources.ts'
import { allows, type ActionSlot } from '../lookup/flags.ts'
import { Verdicts } from '../lookup/verdicts.ts'
import { buildRuleTable } from '../lookup/rule-table.ts'
import type { PathMeaning } from '../pattern/path-pattern.ts'
import { createRememberingReader, type PatternReader } from '../pattern/pattern-reader.ts'
import { quote } from '../quote.ts'
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
        return compileWith(readerFor, set, options)
      } finally {
        // Also of a set that is refused: somebody who types sends nothing else for a while.
        limited.forgetUnread()
        unlimited.forgetUnread()
      }
    },
  }
}

function compileWith(
  readerFor: (limits: boolean) => PatternReader,
  set: PolicySet,
  options: CompileOptions,
): CompiledPolicy {
  checkSet(set, options)
  const reader = readerFor(options.patternLimits ?? true)
  const caseSensitive = options.caseSensitive ?? true
  const machine = machineClasses(readMachineAddresses(set.machine_addresses))
  const meaning: PathMeaning = { home: readHome(set.home), caseSensitive }
  const governed = set.governed ?? set.policies !== undefined
  const org = { policies: set.policies ?? [], origin: 'org', isFullyActive: true } as const
  const local = { policies: set.local ?? [], origin: 'local', isFullyActive: !governed } as const
  refuseProblems([...findAll(org, reader), ...findAll(local, reader)])
  const entries = sortRules(governed ? [org, local] : [local])
  const table = buildRuleTable(entries)
  const { groups, domains, ranges, paths } = groupResources(entries, table, reader, meaning)
  const { flagsOf } = groups
  const pathIndex = buildPathIndex(paths, flagsOf)
  if (options.patternLimits ?? true) refusePathCost(pathIndex.mostSteps(), entries)
  return {
    revision: set.revision ?? null,
    table,
    groups,
    verdicts: new Verdicts(table, groups),
    names: buildNameIndex(domains, flagsOf),
    addresses: buildAddressIndex(
      ranges,
      protectedClasses(machine).map(({ range }) => range),
      flagsOf,
    ),
    addressReader: new AddressReader(),
    embeddings: new EmbeddingIndex(),
    paths: pathIndex,
    linear: createLinearRules(table, meaning),
    resolvesUnlisted: findResolved(set, ranges, flagsOf),
    machine,
    caseSensitive,
  }
}

function findAll(source: PolicySource, reader: PatternReader): PolicyProblem[] {
  const { policies, origin } = source
  const list = origin === 'org' ? 'policies' : 'local'
  // Not `flatMap`, which leaves out the holes of a sparse array.
  return Array.from(policies, (policy, index) =>
    findProblems(policy, origin, `${list}[${index}]`, reader),
  ).flat()
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

/** The actions for which unlisted names are resolved: as set, or where a range allows every address. */
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
  return { 'connect:tcp': isResolved(0), 'connect:udp': isResolved(1) }
}
