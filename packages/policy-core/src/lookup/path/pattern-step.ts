import { IS_LOOP, type PatternTrie } from './pattern-trie.ts'
import { NONE } from './token-trie.ts'

/** Works out which nodes follow a set of nodes after one more name. */
export class PatternStep {
  readonly #trie: PatternTrie

  constructor(trie: PatternTrie) {
    this.#trie = trie
  }

  /** The nodes that are active after a name with these labels; a loop stays. */
  after(nodes: Int32Array, labels: readonly number[]): ReadonlySet<number> {
    const { star, traits } = this.#trie
    const active = new Set<number>()
    for (const node of nodes) {
      if ((traits[node]! & IS_LOOP) !== 0) active.add(node)
      if (star[node] !== NONE) this.#enter(active, star[node]!)
      for (const label of labels) this.#enterChild(active, label, node)
    }
    return active
  }

  #enterChild(active: Set<number>, label: number, above: number): void {
    const { byLabel, labelStart, parent } = this.#trie
    let low = labelStart[label]!
    let high = labelStart[label + 1]!
    const end = high
    while (low < high) {
      const middle = (low + high) >> 1
      if (parent[byLabel[middle]!]! < above) low = middle + 1
      else high = middle
    }
    if (low < end && parent[byLabel[low]!] === above) this.#enter(active, byLabel[low]!)
  }

  #enter(active: Set<number>, node: number): void {
    active.add(node)
    const loop = this.#trie.loop[node]!
    if (loop !== NONE) active.add(loop)
  }
}
