import { FAMILY_BITS } from '../address/ip-address.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import type { PathPattern } from '../pattern/path-pattern.ts'
import { PARSING } from '../pattern/pattern-reader.ts'
import type { Rule } from '../policy/policy.ts'
import { domainOf } from '../policy/policy.ts'

/** A resource for which requests are generated. */
export type Example = {
  /** Index of its rule in the policy. */
  readonly index: number
  readonly rule: Rule
  /** The resource as written. */
  readonly text: string
} & (
  | { readonly domain: 'network'; readonly pattern: NetworkPattern }
  | { readonly domain: 'filesystem'; readonly pattern: PathPattern }
)

const MAX_EXAMPLES = 8
const MAX_OF_KIND = 2
/** Number of leading resources of a rule to use; the last one is added. */
const FIRST_RESOURCES = 3
/** Longest resource to use, because vectors must be small and long texts are rarely special. */
const MAX_TEXT = 256

/**
 * Selects resources of as many kinds as possible: one of each kind, then a second of each, in the
 * order of the rules. Unreadable resources are left out. O(rules).
 */
export function chooseExamples(rules: readonly Rule[]): readonly Example[] {
  const kinds = new Map<string, Example[]>()
  for (const [index, rule] of rules.entries())
    for (const text of someOf(rule.resources)) {
      const example = readExample(index, rule, text)
      if (example === null) continue
      const kind = kindOf(example)
      const known = kinds.get(kind)
      if (known === undefined) kinds.set(kind, [example])
      else if (known.length < MAX_OF_KIND) known.push(example)
    }
  const shelves = [...kinds.values()]
  const chosen = [
    ...shelves.flatMap((shelf) => shelf.slice(0, 1)),
    ...shelves.flatMap((shelf) => shelf.slice(1)),
  ]
  return chosen.slice(0, MAX_EXAMPLES)
}

function someOf(resources: readonly string[]): readonly string[] {
  return [...new Set([...resources.slice(0, FIRST_RESOURCES), ...resources.slice(-1)])]
}

function readExample(index: number, rule: Rule, text: string): Example | null {
  const [action] = rule.actions
  if (action === undefined || text.length > MAX_TEXT) return null
  const domain = domainOf(action)
  if (domain === 'filesystem') {
    const pattern = PARSING.filesystem(text)
    return pattern.ok ? { index, rule, text, domain, pattern: pattern.value } : null
  }
  const pattern = PARSING.network(text)
  return pattern.ok ? { index, rule, text, domain, pattern: pattern.value } : null
}

/** The kind of a resource: a property that an evaluator could misread independently. */
function kindOf(example: Example): string {
  const { decision, actions } = example.rule
  const shape =
    example.domain === 'network' ? shapeOfHost(example.pattern) : shapeOfPath(example.pattern)
  return `${decision} ${actions.toSorted().join()} ${shape}`
}

function shapeOfHost(pattern: NetworkPattern): string {
  const port = pattern.port === null ? '' : ' port'
  if (pattern.kind === 'name') return `${pattern.depth}${port}`
  const { family, prefix } = pattern.range
  return `${family} ${prefix === FAMILY_BITS[family] ? 'address' : 'range'}${port}`
}

function shapeOfPath({ fromHome, segments }: PathPattern): string {
  const stars = segments.map((segment) => {
    if ('recursive' in segment) return '**'
    if (segment.pieces.length === 1) return ''
    return segment.pieces.join('') === '' ? '*' : 'a*'
  })
  return `${fromHome ? '~' : ''}${[...new Set(stars)].join('/')} ${stars.at(-1) ?? ''}`
}
