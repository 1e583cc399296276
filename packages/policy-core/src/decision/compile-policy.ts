import { parseAddress, type IpAddress } from '../address/ip-address.ts'
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
import { parsePath, segmentsOf } from '../path/path.ts'
import type { PathMeaning } from '../pattern/path-pattern.ts'
import { createRememberingReader, type PatternReader } from '../pattern/pattern-reader.ts'
import type { Policy } from '../policy/policy.ts'
import { quote, show } from '../quote.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import { findProblems } from './find-problems.ts'
import { createLinearRules } from './linear-rules.ts'
import { sortRules, type PolicySource } from './sort-rules.ts'

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

/** How policies are read, besides what they say. */
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
  return compileWith(createRememberingReader(), set, options)
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
  const reader = createRememberingReader()
  return {
    compile(set, options = {}) {
      try {
        return compileWith(reader, set, options)
      } finally {
        // Also of a set that is refused: somebody who types sends nothing else for a while.
        reader.forgetUnread()
      }
    },
  }
}

function compileWith(
  reader: PatternReader,
  set: PolicySet,
  options: CompileOptions,
): CompiledPolicy {
  const caseSensitive = options.caseSensitive ?? true
  for (const member of ['policies', 'local', 'machine_addresses'] as const) {
    const list: unknown = set[member]
    if (list !== undefined && !Array.isArray(list))
      throw invalidOption(member, `${show(list)} is not an array`)
  }
  const machine = machineClasses((set.machine_addresses ?? []).map(readMachineAddress))
  const meaning: PathMeaning = { home: readHome(set.home), caseSensitive }
  const governed = set.governed ?? set.policies !== undefined
  const org = { policies: set.policies ?? [], origin: 'org', isFullyActive: true } as const
  const local = { policies: set.local ?? [], origin: 'local', isFullyActive: !governed } as const
  refuseProblems([...findAll(org, reader), ...findAll(local, reader)])
  const entries = sortRules(governed ? [org, local] : [local])
  const table = buildRuleTable(entries)
  const { groups, domains, ranges, paths } = groupResources(entries, table, reader, meaning)
  const { flagsOf } = groups
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
    paths: buildPathIndex(paths, flagsOf),
    linear: createLinearRules(table, meaning),
    resolvesUnlisted: findResolved(set, ranges, flagsOf),
    machine,
    caseSensitive,
  }
}

function findAll(source: PolicySource, reader: PatternReader): PolicyProblem[] {
  return source.policies.flatMap((policy) => findProblems(policy, source.origin, reader))
}

function refuseProblems(problems: readonly PolicyProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const summary = `policy ${quote(first.policy_name)} rule ${quote(first.rule_name)} ${first.member}: ${first.message}${more}`
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
