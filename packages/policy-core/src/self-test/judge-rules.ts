import type { CompiledResource } from '../decision/compiled-policy.ts'
import { testAddress, testAddressDeeply, testName } from '../decision/match.ts'
import type { ParsedRequest } from '../decision/request.ts'
import { readGlobPath } from '../path/glob.ts'
import { segmentsOf } from '../path/path.ts'
import { placedPatternMatches, placePattern, type PathPattern } from '../pattern/path-pattern.ts'
import { PARSING } from '../pattern/pattern-reader.ts'
import { domainOf, type Rule, type RuleDecision } from '../policy/policy.ts'
import type { Example } from './choose-examples.ts'

/** The work that the vectors of one policy are worth, in resources read and rules named. */
const MAX_RESOURCES = 1024
const MAX_RULES = 12

/** Stands for every home directory: what is below it is matched alike below any other. */
export const ANY_HOME = '/home'

export interface Asked {
  readonly request: ParsedRequest
  /** Whether the path was written with `~`, which is `ANY_HOME` in the request. */
  readonly isAtHome: boolean
}

/** Whether a rule matches a request: null when that is not certain on every machine. */
export type Judge = (asked: Asked) => boolean | null

/**
 * A judge for some of the rules, by their places: those of the examples and then the first, as many
 * as the work is worth. Every pattern is tried, one by one, as `explain` does; no index is asked.
 * Where a rule of an example would be too much, only the example is tried, which tells what it
 * matches, not what it misses.
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
 * Whether a pattern with `~` matches a path that is not written with it depends on the machine, as
 * does the other way round, and where letter case counts it may decide.
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
