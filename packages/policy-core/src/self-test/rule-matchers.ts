import type { CompiledResource } from '../decision/compiled-policy.ts'
import { testAddress, testAddressDeeply, testName } from '../decision/match.ts'
import type { ParsedRequest } from '../decision/request.ts'
import { readGlobPath } from '../path/glob.ts'
import { segmentsOf } from '../path/path.ts'
import {
  resolvedPatternMatches,
  resolvePattern,
  type PathPattern,
} from '../pattern/path-pattern.ts'
import { PARSING } from '../pattern/pattern-reader.ts'
import { domainOf, type Rule, type RuleDecision } from '../policy/policy.ts'
import type { Example } from './choose-examples.ts'

/** Maximum work for the vectors of one policy, in resources read and rules named. */
const MAX_RESOURCES = 1024
const MAX_RULES = 12

/** Represents every home directory, because paths below any home match alike. */
export const ANY_HOME = '/home'

export interface Asked {
  readonly request: ParsedRequest
  /** Whether the path is written with `~`, which is `ANY_HOME` in the request. */
  readonly isAtHome: boolean
}

/** Tells whether a rule matches a request; null when machines may differ. */
export type RuleMatcher = (asked: Asked) => boolean | null

/**
 * Creates matchers for some of the rules, by index: first the rules of the examples, then others
 * in order, up to the work limit. Every pattern is tried, as in `explain`, without an index. If a
 * rule of an example exceeds the limit, only the example is tried: it can prove a match but no
 * miss.
 */
export function createRuleMatchers(
  rules: readonly Rule[],
  examples: readonly Example[],
): ReadonlyMap<number, RuleMatcher> {
  // Decisions name rules by their ids.
  const ids = new Map<string, number>()
  for (const { id } of rules) ids.set(id, (ids.get(id) ?? 0) + 1)
  const indices = new Set([...examples.map(({ index }) => index), ...rules.keys()])
  const matchers = new Map<number, RuleMatcher>()
  let left = MAX_RESOURCES
  for (const index of indices) {
    const rule = rules[index]
    if (matchers.size === MAX_RULES) break
    if (rule === undefined || ids.get(rule.id) !== 1) continue
    const texts = rule.resources.length <= left ? rule.resources : textsOf(examples, index)
    const matcher = texts.length === 0 ? null : matcherOf(rule, texts)
    if (matcher === null) continue
    left -= texts.length
    matchers.set(index, texts === rule.resources ? matcher : (asked) => matcher(asked) || null)
  }
  return matchers
}

function textsOf(examples: readonly Example[], index: number): readonly string[] {
  return examples.filter((each) => each.index === index).map(({ text }) => text)
}

/** Null where not all of the resources can be read. */
function matcherOf({ actions, decision }: Rule, texts: readonly string[]): RuleMatcher | null {
  const [action] = actions
  if (action === undefined) return null
  const matcher =
    domainOf(action) === 'network' ? matcherOfHosts(texts, decision) : matcherOfPaths(texts)
  return matcher && ((asked) => actions.includes(asked.request.action) && matcher(asked))
}

function matcherOfHosts(texts: readonly string[], decision: RuleDecision): RuleMatcher | null {
  const resources: CompiledResource[] = []
  for (const text of texts) {
    const pattern = PARSING.network(text)
    if (!pattern.ok) return null
    resources.push({ domain: 'network', text, pattern: pattern.value })
  }
  const test = decision === 'deny' ? testAddressDeeply : testAddress
  return ({ request }) => {
    if (request.kind === 'path') return false
    const { name, port, address } = request
    if (resources.some(testName(name, port))) return true
    return address !== null && resources.some(test(address, port))
  }
}

/**
 * The result depends on the machine if only one of pattern and path is written with `~`, or if
 * letter case decides.
 */
function matcherOfPaths(texts: readonly string[]): RuleMatcher | null {
  const patterns: PathPattern[] = []
  for (const text of texts) {
    const pattern = PARSING.filesystem(text)
    if (!pattern.ok) return null
    patterns.push(pattern.value)
  }
  const kinOf = (fromHome: boolean) => {
    const kin = patterns.filter((pattern) => pattern.fromHome === fromHome)
    const resolve = (caseSensitive: boolean) =>
      kin.map((pattern) => resolvePattern(pattern, { home: segmentsOf(ANY_HOME), caseSensitive }))
    return { isAll: kin.length === patterns.length, exact: resolve(true), folded: resolve(false) }
  }
  const [home, root] = [kinOf(true), kinOf(false)]
  return ({ request, isAtHome }) => {
    if (request.kind === 'connect') return false
    const { isAll, exact, folded } = isAtHome ? home : root
    const [path, foldedPath] = [readGlobPath(request.path, true), readGlobPath(request.path, false)]
    if (exact.some((pattern) => resolvedPatternMatches(pattern, path))) return true
    return isAll && !folded.some((pattern) => resolvedPatternMatches(pattern, foldedPath))
      ? false
      : null
  }
}
