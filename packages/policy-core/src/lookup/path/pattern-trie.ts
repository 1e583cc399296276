import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import { intoBuckets, numbersTo } from './buckets.ts'
import { createGlobFinder, type GlobFinder } from './glob-finder.ts'
import { NamedChildren } from './named-children.ts'
import type { LabelledGlob, LabelledPatterns, PatternLabels, Token } from './pattern-labels.ts'
import { NONE, ROOT } from './token-trie.ts'

/** The node is that of a `**`. */
export const IS_LOOP = 1
/** The node has a child by some name. */
export const LEADS_ON = 2

/**
 * All patterns in one tree, with a node for each shared prefix, in flat arrays by node. A loop is
 * the node of a `**`: it stays active, and a path that reaches the node before it has reached the
 * loop too. A loop therefore has no child by `*` (see `tokensOf`) or by `**`.
 */
export interface PatternTrie {
  readonly size: number
  readonly labels: PatternLabels
  /** Finds all globs in `labels`. There is only one finder, because it takes most of the memory. */
  readonly globFinder: GlobFinder
  readonly parent: Int32Array
  /** The child that any one name leads to, or `NONE`. */
  readonly star: Int32Array
  /** The child for `**`, or `NONE`. */
  readonly loop: Int32Array
  /** `IS_LOOP` and `LEADS_ON`. */
  readonly traits: Uint8Array
  /** The labels with `*` inside that lead to a child, for the nodes that have one. */
  readonly globsBelow: ReadonlyMap<number, readonly LabelledGlob[]>
  /** The children that labels lead to, by label and parent: from `labelStart[l]` to the next. */
  readonly byLabel: Int32Array
  readonly labelStart: Int32Array
  /** The groups of the patterns that end at node `n`: from `groupStart[n]` to the next. */
  readonly groups: Int32Array
  readonly groupStart: Int32Array
}

/** Time and memory are linear in the segments of all patterns. */
export function* buildPatternTrie({
  labels,
  tokens,
  groups,
}: LabelledPatterns): Steps<PatternTrie> {
  const parent = [NONE]
  const token: Token[] = ['any one']
  const star = [NONE]
  const loop = [NONE]
  const named = new NamedChildren()

  const childOf = (node: number, by: Token): number => {
    const known =
      by === 'any one' ? star[node]! : by === 'any number' ? loop[node]! : named.find(node, by)
    if (known !== undefined && known !== NONE) return known
    const child = parent.length
    parent.push(node)
    token.push(by)
    star.push(NONE)
    loop.push(NONE)
    if (by === 'any one') star[node] = child
    else if (by === 'any number') loop[node] = child
    else named.add(node, by, child)
    return child
  }

  const ends: number[] = []
  for (let index = 0; index < tokens.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    ends.push(tokens[index]!.reduce(childOf, ROOT))
  }
  yield
  const byParent = intoBuckets(parent, numbersTo(token.length), token.length).items
  const byLabel = intoBuckets(
    token.map((by) => (typeof by === 'number' ? by : NONE)),
    byParent,
    labels.count,
  )
  yield
  const byEnd = intoBuckets(ends, numbersTo(ends.length), token.length)
  return {
    size: token.length,
    labels,
    globFinder: createGlobFinder(labels.globs),
    parent: Int32Array.from(parent),
    star: Int32Array.from(star),
    loop: Int32Array.from(loop),
    traits: findTraits(parent, token),
    globsBelow: findGlobsBelow(labels, parent, token),
    byLabel: byLabel.items,
    labelStart: byLabel.start,
    groups: byEnd.items.map((index) => groups[index]!),
    groupStart: byEnd.start,
  }
}

function findTraits(parent: readonly number[], token: readonly Token[]): Uint8Array {
  const traits = new Uint8Array(parent.length)
  for (let node = 0; node < token.length; node += 1) {
    if (token[node] === 'any number') traits[node]! |= IS_LOOP
    else if (node !== ROOT) traits[parent[node]!]! |= LEADS_ON
  }
  return traits
}

function findGlobsBelow(
  { globs }: PatternLabels,
  parent: readonly number[],
  token: readonly Token[],
): Map<number, LabelledGlob[]> {
  const below = new Map<number, LabelledGlob[]>()
  if (globs.length === 0) return below
  const globOf = new Map(globs.map((glob) => [glob.label, glob]))
  for (let node = 0; node < token.length; node += 1) {
    const by = token[node]
    const glob = typeof by === 'number' ? globOf.get(by) : undefined
    if (glob === undefined) continue
    const siblings = below.get(parent[node]!)
    if (siblings === undefined) below.set(parent[node]!, [glob])
    else siblings.push(glob)
  }
  return below
}
