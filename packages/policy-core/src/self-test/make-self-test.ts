import { parseRequest } from '../decision/request.ts'
import { isFilesystemAction, type Policy, type Rule } from '../policy/policy.ts'
import { chooseExamples, type Example } from './choose-examples.ts'
import { hostRequests, type HostRequest } from './host-requests.ts'
import { ANY_HOME, createRuleMatchers, type RuleMatcher } from './rule-matchers.ts'
import { pathRequests, type TildeRequest } from './path-requests.ts'
import type { SelfTestVector } from './self-test.ts'

const MAX_VECTORS = 12
/**
 * Maximum length of the vectors in JSON, which is longer than on the wire. The limit is small
 * because machines fetch them with the policy.
 */
const MAX_CHARACTERS = 4096
const MAX_REQUEST = 512

type Candidate = HostRequest | TildeRequest

/** Requests for reserved names (RFC 6761 §6.4), which rules do not cover. */
const NOBODY: readonly Candidate[] = [
  { action: 'connect:tcp', host: 'self-test.invalid', port: 443 },
  { action: 'read', path: '/self-test.invalid' },
]

/**
 * Generates a few requests from the rules of a policy, each with the rules that match it: requests
 * that each kind of resource matches, and close misses. `runSelfTest` compares them with an
 * evaluator, to detect one that reads the policy differently: another version, or a defective
 * machine.
 *
 * The result is deterministic on every platform and small: at most 12 vectors, seldom more than a
 * kilobyte. Rules that would make it long, or do not compile, are left out. Never throws for a
 * policy of the right types. Matches are found by trying each pattern, without the indices of
 * `decide`.
 */
export function makeSelfTest(policy: Policy): SelfTestVector[] {
  const rules = policy.allowlist_v0?.rules ?? []
  const examples = chooseExamples(rules)
  const matchers = createRuleMatchers(rules, examples)
  const vectors: SelfTestVector[] = []
  const seen = new Set<string>()
  let left = MAX_CHARACTERS
  for (const candidate of inTurns(rules, examples)) {
    const key = JSON.stringify(candidate)
    if (seen.has(key) || key.length > MAX_REQUEST) continue
    seen.add(key)
    const vector = vectorOf(candidate, matchers)
    const size = vector === null ? 0 : JSON.stringify(vector).length
    if (vector === null || size > left) continue
    left -= size
    vectors.push(vector)
    if (vectors.length === MAX_VECTORS) break
  }
  return vectors
}

/**
 * First requests that no rule covers, then the examples in turns: all first requests, and so on.
 */
function* inTurns(
  rules: readonly Rule[],
  examples: readonly Example[],
): Generator<Candidate, void> {
  const [action] = rules[0]?.actions ?? []
  if (action === undefined) return
  yield* NOBODY.filter((each) => 'path' in each === isFilesystemAction(action))
  const lists = examples.map(requestsOf)
  const most = Math.max(0, ...lists.map(({ length }) => length))
  for (let turn = 0; turn < most; turn += 1) {
    for (const list of lists) yield* list.slice(turn, turn + 1)
    if (turn === 0) yield* pairsOf(examples, lists)
  }
}

function requestsOf(example: Example): readonly Candidate[] {
  return example.domain === 'network'
    ? hostRequests(example.pattern, example.rule)
    : pathRequests(example.pattern, example.rule)
}

/** A name with one of its addresses, as in requests of enforcement points. */
function pairsOf(
  examples: readonly Example[],
  lists: readonly (readonly Candidate[])[],
): readonly Candidate[] {
  const firstOf = (kind: 'name' | 'range'): HostRequest | null => {
    const at = examples.findIndex((each) => each.domain === 'network' && each.pattern.kind === kind)
    const request = lists[at]?.[0]
    return request !== undefined && 'host' in request ? request : null
  }
  const [name, address] = [firstOf('name'), firstOf('range')]
  return name === null || address === null ? [] : [{ ...name, address: address.host }]
}

/** Null for an invalid request, or one without a certain result for any rule. */
function vectorOf(
  candidate: Candidate,
  matchers: ReadonlyMap<number, RuleMatcher>,
): SelfTestVector | null {
  const isAtHome = 'path' in candidate && candidate.path.startsWith('~')
  const read = parseRequest(
    isAtHome ? { ...candidate, path: `${ANY_HOME}${candidate.path.slice(1)}` } : candidate,
  )
  if (!read.ok) return null
  const match: number[] = []
  const miss: number[] = []
  for (const [index, matches] of matchers) {
    const answer = matches({ request: read.value, isAtHome })
    if (answer !== null) (answer ? match : miss).push(index)
  }
  if (match.length + miss.length === 0) return null
  const said = { match: match.toSorted(ascending), miss: miss.toSorted(ascending) }
  const { value } = read
  if ('path' in candidate) return { kind: 'path', ...candidate, ...said }
  if (value.kind === 'path') return null
  const { action, host, port, address } = value.canonical
  // Also for `localhost`, which means an address: then rules of both kinds may match.
  const resolved = value.name === null || address === undefined ? {} : { address }
  return { kind: 'connect', action, host, port, ...resolved, ...said }
}

function ascending(a: number, b: number): number {
  return a - b
}
