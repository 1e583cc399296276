import type { CompiledResource } from '../decision/compiled-policy.ts'
import { testAddress, testAddressDeeply, testName } from '../decision/match.ts'
import type { ParsedRequest } from '../decision/request.ts'
import { readGlobPath } from '../path/glob.ts'
import { segmentsOf } from '../path/path.ts'
import { placedPatternMatches, placePattern, type PathPattern } from '../pattern/path-pattern.ts'
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
export type Judge = (asked: Asked) => boolean | null

/**
 * Judges for some of the rules, by index: first the rules of the examples, then others in order, up
 * to the work limit. Every pattern is tried, as in `explain`, without an index. If a rule of an
 * example exceeds the limit, only the example is tried: it can prove a match but no miss.
 */
export function judgeRules(
  rules: readonly Rule[],
  examples: readonly Example[],
): ReadonlyMap<number, Judge> {
  // Decisions name rules by their ids.
  const ids = new Map<string, number>()
  for (const { id } of rules) ids.set(id, (ids.get(id) ?? 0) + 1)
  const places = new Set([...examples.map(({ place }) => place), ...rules.keys()])
  const judges = new Map<number, Judge>()
  let left = MAX_RESOURCES
  for (const place of places) {
    const rule = rules[place]
    if (judges.size === MAX_RULES) break
    if (rule === undefined || ids.get(rule.id) !== 1) continue
    const texts = rule.resources.length <= left ? rule.resources : textsOf(examples, place)
    const judge = texts.length === 0 ? null : judgeOf(rule, texts)
    if (judge === null) continue
    left -= texts.length
    judges.set(place, texts === rule.resources ? judge : (asked) => judge(asked) || null)
  }
  return judges
}

function textsOf(examples: readonly Example[], place: number): readonly string[] {
  return examples.filter((each) => each.place === place).map(({ text }) => text)
}

/** Null where not all of the resources can be read. */
function judgeOf({ actions, decision }: Rule, texts: readonly string[]): Judge | null {
  const [action] = actions
  if (action === undefined) return null
  const judge = domainOf(action) === 'network' ? judgeHosts(texts, decision) : judgePaths(texts)
  return judge && ((asked) => actions.includes(asked.request.action) && judge(asked))
}

function judgeHosts(texts: readonly string[], decision: RuleDecision): Judge | null {
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
function judgePaths(texts: readonly string[]): Judge | null {
  const patterns: PathPattern[] = []
  for (const text of texts) {
    const pattern = PARSING.filesystem(text)
    if (!pattern.ok) return null
    patterns.push(pattern.value)
  }
  const kinOf = (fromHome: boolean) => {
    const kin = patterns.filter((pattern) => pattern.fromHome === fromHome)
    const place = (caseSensitive: boolean) =>
      kin.map((pattern) => placePattern(pattern, { home: segmentsOf(ANY_HOME), caseSensitive }))
    return { isAll: kin.length === patterns.length, exact: place(true), folded: place(false) }
  }
  const [home, root] = [kinOf(true), kinOf(false)]
  return ({ request, isAtHome }) => {
    if (request.kind === 'connect') return false
    const { isAll, exact, folded } = isAtHome ? home : root
    const [path, foldedPath] = [readGlobPath(request.path, true), readGlobPath(request.path, false)]
    if (exact.some((pattern) => placedPatternMatches(pattern, path))) return true
    return isAll && !folded.some((pattern) => placedPatternMatches(pattern, foldedPath))
      ? false
      : null
  }
}
