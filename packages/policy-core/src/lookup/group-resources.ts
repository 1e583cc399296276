import { foldCase } from '../path/path.ts'
import { resolvePattern, type PathMeaning } from '../pattern/path-pattern.ts'
import type { PatternReader } from '../pattern/pattern-reader.ts'
import { domainOf } from '../policy/policy.ts'
import { ITEMS_A_STEP, type Steps } from '../steps.ts'
import type { AddressPattern } from './address/address-index.ts'
import { buildGroups, type Groups } from './groups.ts'
import type { DomainPatterns } from './name/name-index.ts'
import type { PathGroup } from './path/path-index.ts'
import { collectNetworkGroups, collectPathGroups } from './pattern-groups.ts'
import { createGroupCounter } from './port-groups.ts'
import type { RuleEntry, RuleTable } from './rule-table.ts'

/** The distinct patterns of all rules, in the form in which each index takes them. */
export interface GroupedResources {
  readonly groups: Groups
  readonly domains: readonly DomainPatterns[]
  readonly ranges: readonly AddressPattern[]
  readonly paths: readonly PathGroup[]
}

const NO_GROUP = -1

/** `entries` are the entries of the table. All their resources must be readable. */
export function* groupResources(
  entries: readonly RuleEntry[],
  table: RuleTable,
  reader: PatternReader,
  meaning: PathMeaning,
): Steps<GroupedResources> {
  const counter = createGroupCounter()
  const network = collectNetworkGroups(counter)
  const paths = collectPathGroups(counter)
  const groupOfPath = (text: string): number => {
    const pattern = reader.filesystem(text)
    const segments = pattern.ok ? resolvePattern(pattern.value, meaning) : null
    if (segments === null) return NO_GROUP
    return paths.groupOf(meaning.caseSensitive ? text : foldCase(text), segments)
  }
  const groupOfHost = (text: string): number => {
    const pattern = reader.network(text)
    return pattern.ok ? network.groupOf(pattern.value) : NO_GROUP
  }
  const groupOf: number[] = []
  for (let rule = 0; rule < entries.length; rule += 1) {
    const { actions, resources } = entries[rule]!
    const hasEffect = table.flagsOf(rule) !== 0
    const action = actions[0] ?? 'read'
    const groupOfText = domainOf(action) === 'filesystem' ? groupOfPath : groupOfHost
    for (let index = 0; index < resources.length; index += 1) {
      if (groupOf.length % ITEMS_A_STEP === 0) yield
      groupOf.push(hasEffect ? groupOfText(resources[index]!) : NO_GROUP)
    }
  }
  yield
  return {
    groups: buildGroups(table, Int32Array.from(groupOf), counter.count()),
    domains: network.domains(),
    ranges: network.ranges(),
    paths: paths.patterns(),
  }
}
