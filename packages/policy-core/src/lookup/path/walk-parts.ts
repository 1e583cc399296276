import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import { intoBuckets, numbersTo, type Buckets } from './buckets.ts'
import type { LabelledPatterns, Token } from './pattern-labels.ts'
import { createTokenTrieBuilder, NONE, ROOT, type TokenTrie } from './token-trie.ts'

/**
 * All patterns cut at their `**`: a *head* before the first, *chunks* between two, and a *tail*
 * after the last. A *loop* is a `**` after the same head and chunks. Equal chunks are stored once,
 * even after different loops, and so are equal tails.
 */
export interface WalkParts {
  readonly heads: TokenTrie
  readonly chunks: TokenTrie
  /** From the last name of a tail to its first. */
  readonly tails: TokenTrie
  /** The loop that follows a node of `heads`, or `NONE`. */
  readonly loopOfHead: Int32Array
  /** Groups of patterns without `**`, by the node of `heads` where they end. */
  readonly groupsOfHead: Buckets
  /** The number of the chunk that ends at a node of `chunks`, or `NONE`. */
  readonly chunkOf: Int32Array
  readonly chunkCount: number
  readonly loopCount: number
  /** The loop before all names, or `NONE`; by chunk the loop that it leads to from there. */
  readonly rootLoop: number
  readonly fromRoot: Int32Array
  /** The other ways from loop to loop, by the loop that they leave. */
  readonly waysOf: Buckets
  readonly chunkOfWay: Int32Array
  readonly fromOfWay: Int32Array
  readonly toOfWay: Int32Array
  /** Groups of patterns by the loop that they end in. */
  readonly groupsOfLoop: Buckets
  /** Patterns by the node of `tails` where they end, with the loop before that and the group. */
  readonly endsOfTail: Buckets
  readonly loopOfEnd: Int32Array
  readonly groupOfEnd: Int32Array
}

/** Time and memory are linear in the segments of all patterns. */
export function* buildWalkParts({ tokens, groups, labels }: LabelledPatterns): Steps<WalkParts> {
  const globs = new Set(labels.globs.map(({ label }) => label))
  const isGlob = (label: number): boolean => globs.has(label)
  const [heads, chunks, tails] = [
    createTokenTrieBuilder(isGlob),
    createTokenTrieBuilder(isGlob),
    createTokenTrieBuilder(isGlob),
  ]
  const loopOfHead: number[] = []
  const chunkOf: number[] = []
  let chunkCount = 0
  const ways: Way[] = []
  const waysByChunk: Map<number, number>[] = []
  const [ofHeads, ofLoops, ofTails]: [End[], End[], End[]] = [[], [], []]

  const addLoop = (): number => waysByChunk.push(new Map()) - 1
  const loopAfter = (from: number, chunkTokens: readonly Token[]): number => {
    const chunk = (chunkOf[chunks.add(chunkTokens)] ??= chunkCount++)
    const known = waysByChunk[from]!.get(chunk)
    if (known !== undefined) return known
    const to = addLoop()
    waysByChunk[from]!.set(chunk, to)
    ways.push({ from, chunk, to })
    return to
  }
  for (let index = 0; index < tokens.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    const [head = [], ...rest] = cutAtLoops(tokens[index]!)
    const group = groups[index]!
    const headNode = heads.add(head)
    const tail = rest.pop()
    if (tail === undefined) {
      ofHeads.push({ at: headNode, loop: NONE, group })
      continue
    }
    const loop = rest.reduce(loopAfter, (loopOfHead[headNode] ??= addLoop()))
    if (tail.length === 0) ofLoops.push({ at: loop, loop, group })
    else ofTails.push({ at: tails.add(tail.toReversed()), loop, group })
  }

  const rootLoop = loopOfHead[ROOT] ?? NONE
  const fromRoot = new Int32Array(chunkCount).fill(NONE)
  for (const { from, chunk, to } of ways) if (from === rootLoop) fromRoot[chunk] = to
  yield
  const headTrie = heads.finish()
  yield
  const chunkTrie = chunks.finish()
  yield
  const tailTrie = tails.finish()
  yield
  const loopCount = waysByChunk.length
  return {
    heads: headTrie,
    chunks: chunkTrie,
    tails: tailTrie,
    loopOfHead: numbers(headTrie.size, loopOfHead),
    groupsOfHead: groupsAt(ofHeads, headTrie.size),
    chunkOf: numbers(chunkTrie.size, chunkOf),
    chunkCount,
    loopCount,
    rootLoop,
    fromRoot,
    waysOf: intoBuckets(
      ways.map(({ from }) => (from === rootLoop ? NONE : from)),
      numbersTo(ways.length),
      loopCount,
    ),
    chunkOfWay: Int32Array.from(ways, ({ chunk }) => chunk),
    fromOfWay: Int32Array.from(ways, ({ from }) => from),
    toOfWay: Int32Array.from(ways, ({ to }) => to),
    groupsOfLoop: groupsAt(ofLoops, loopCount),
    endsOfTail: intoBuckets(
      ofTails.map(({ at }) => at),
      numbersTo(ofTails.length),
      tailTrie.size,
    ),
    loopOfEnd: Int32Array.from(ofTails, ({ loop }) => loop),
    groupOfEnd: Int32Array.from(ofTails, ({ group }) => group),
  }
}

interface Way {
  readonly from: number
  readonly chunk: number
  readonly to: number
}

interface End {
  readonly at: number
  readonly loop: number
  readonly group: number
}

/** The tokens before, between and after the `**`. */
function cutAtLoops(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (token === 'any number') parts.push([])
    else parts.at(-1)!.push(token)
  }
  return parts
}

/** The list with `NONE` in its holes, in an array of the length. */
function numbers(length: number, sparse: readonly number[]): Int32Array {
  const all = new Int32Array(length).fill(NONE)
  for (let index = 0; index < sparse.length; index += 1) all[index] = sparse[index] ?? NONE
  return all
}

/** The groups themselves in buckets. */
function groupsAt(ends: readonly End[], size: number): Buckets {
  const { items, start } = intoBuckets(
    ends.map(({ at }) => at),
    numbersTo(ends.length),
    size,
  )
  return { items: items.map((index) => ends[index]!.group), start }
}
