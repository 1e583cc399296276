import type { Buckets } from './buckets.ts'
import { NONE, ROOT, type TokenTrie } from './token-trie.ts'

/** The labels of one name of a path. */
export interface NameLabels {
  /** The label that is the name itself, or `NONE`. */
  readonly literal: number
  /** The labels that are globs which match the name. */
  readonly globs: readonly number[]
}

/** Reads names through a trie and holds the nodes that the last name reached. */
export class TrieReading {
  readonly #trie: TokenTrie
  #nodes: number[] = []
  #count = 0
  #former: number[] = []
  #steps = 0

  constructor(trie: TokenTrie) {
    this.#trie = trie
  }

  /** The nodes; valid are the first `count`. */
  get nodes(): readonly number[] {
    return this.#nodes
  }

  get count(): number {
    return this.#count
  }

  /** Nodes left and globs tried so far. */
  get steps(): number {
    return this.#steps
  }

  clear(): void {
    this.#count = 0
  }

  /** Adds the root, which must not be active yet. */
  begin(): void {
    this.#push(ROOT)
  }

  read({ literal, globs }: NameLabels): void {
    const trie = this.#trie
    const former = this.#nodes
    const count = this.#count
    this.#nodes = this.#former
    this.#former = former
    this.#count = 0
    for (let index = 0; index < count; index += 1) {
      const node = former[index]!
      this.#steps += 1
      if (trie.star[node] !== NONE) this.#push(trie.star[node]!)
      if (literal !== NONE) this.#readBy(literal, trie.literals, node)
      if (globs.length > 0) this.#readByGlobs(globs, node)
    }
  }

  /** Tries the globs of the name or those below the node, whichever are fewer. */
  #readByGlobs(globs: readonly number[], node: number): void {
    const below = this.#trie.globs
    const children = below.start[node + 1]! - below.start[node]!
    if (children === 0) return
    this.#steps += Math.min(children, globs.length)
    if (globs.length <= children) {
      for (const glob of globs) this.#readBy(glob, below, node)
      return
    }
    for (let index = below.start[node]!; index < below.start[node + 1]!; index += 1) {
      const child = below.items[index]!
      if (hasLabel(globs, this.#trie.label[child]!)) this.#push(child)
    }
  }

  #readBy(label: number, { items, start }: Buckets, node: number): void {
    const labels = this.#trie.label
    let low = start[node]!
    let high = start[node + 1]!
    const end = high
    while (low < high) {
      const middle = (low + high) >> 1
      if (labels[items[middle]!]! < label) low = middle + 1
      else high = middle
    }
    if (low < end && labels[items[low]!] === label) this.#push(items[low]!)
  }

  #push(node: number): void {
    this.#nodes[this.#count] = node
    this.#count += 1
  }
}

/** In a sorted list. */
function hasLabel(sorted: readonly number[], label: number): boolean {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < label) low = middle + 1
    else high = middle
  }
  return sorted[low] === label
}
