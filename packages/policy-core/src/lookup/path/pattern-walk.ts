import {
  BELOW_LOOP,
  BELOW_NODE,
  IS_LOOP,
  KINDS,
  NONE,
  PURE,
  type PatternTrie,
} from './pattern-trie.ts'

/** Below this many pure nodes, to remember what was done costs more than to do it again. */
const FEW = 16
/** Marks grow with every step and have to fit 31 bits. */
const MAX_MARK = 2 ** 30

/**
 * Walks all patterns at once, a segment at a time, without ever going back. One walk at a time.
 *
 * A step costs no more than the nodes that are active, nor than those that have one of the labels
 * (whichever are fewer), and those that it makes active. Loops are not visited again at each step:
 * 2,000 nested ones and a path of 2,000 segments are not 4 million visits.
 */
export class PatternWalk {
  readonly #trie: PatternTrie
  readonly #maxMark: number
  // Nodes are marked with the step at which they became active. What one step reads and writes is
  // kept apart, or a node that is reached again would lose its children of this step.
  #active: number[] = []
  #activeCount = 0
  #activeAt: Int32Array
  #reached: number[] = []
  #reachedCount = 0
  #reachedAt: Int32Array
  readonly #loops: number[] = []
  #loopCount = 0
  readonly #loopAt: Int32Array
  /** By label: of how many loops the pure children were entered. */
  readonly #done = new Map<number, number>()
  #first = 0
  #now = 0
  #visits = 0

  constructor(trie: PatternTrie, maxMark: number = MAX_MARK) {
    this.#trie = trie
    this.#maxMark = maxMark
    this.#activeAt = new Int32Array(trie.size)
    this.#reachedAt = new Int32Array(trie.size)
    this.#loopAt = new Int32Array(trie.size)
  }

  /** Nodes looked at so far, in all walks. */
  get visits(): number {
    return this.#visits
  }

  /** Begins with these nodes active. */
  start(nodes: Int32Array): void {
    if (this.#now > this.#maxMark) {
      for (const marks of [this.#activeAt, this.#reachedAt, this.#loopAt]) marks.fill(0)
      this.#now = 0
    }
    this.#now += 1
    this.#first = this.#now
    this.#activeCount = 0
    this.#loopCount = 0
    this.#done.clear()
    for (const node of nodes) {
      if ((this.#trie.traits[node]! & IS_LOOP) !== 0) {
        this.#enterLoop(node)
      } else {
        this.#activeAt[node] = this.#now
        this.#active[this.#activeCount] = node
        this.#activeCount += 1
      }
    }
  }

  /** Takes one segment, which has these labels. `isLast` when no other will follow. */
  step(labels: readonly number[], isLast: boolean): void {
    const { labelStart, star } = this.#trie
    this.#now += 1
    this.#reachedCount = 0
    const loops = this.#loopCount
    for (const label of labels) {
      this.#enterBelowNodes(label)
      const from = labelStart[KINDS * label + BELOW_LOOP]!
      this.#enterBelowLoops(from, labelStart[KINDS * label + PURE]!, 0, loops)
      this.#enterPure(label, loops, isLast)
    }
    this.#visits += this.#activeCount
    for (let index = 0; index < this.#activeCount; index += 1) {
      const node = star[this.#active[index]!]!
      if (node !== NONE) this.#enter(node)
    }
    ;[this.#active, this.#reached] = [this.#reached, this.#active]
    ;[this.#activeAt, this.#reachedAt] = [this.#reachedAt, this.#activeAt]
    this.#activeCount = this.#reachedCount
  }

  isDead(): boolean {
    return this.#activeCount + this.#loopCount === 0
  }

  /** Writes the active nodes into `into`, which is long enough for all; returns their number. */
  collect(into: Int32Array): number {
    const count = this.#activeCount
    for (let index = 0; index < count; index += 1) into[index] = this.#active[index]!
    for (let index = 0; index < this.#loopCount; index += 1)
      into[count + index] = this.#loops[index]!
    return count + this.#loopCount
  }

  #enter(node: number): void {
    this.#reachedAt[node] = this.#now
    this.#reached[this.#reachedCount] = node
    this.#reachedCount += 1
    const loop = this.#trie.loop[node]!
    if (loop !== NONE) this.#enterLoop(loop)
  }

  #enterLoop(node: number): void {
    if (this.#loopAt[node]! >= this.#first) return
    this.#loopAt[node] = this.#now
    this.#loops[this.#loopCount] = node
    this.#loopCount += 1
  }

  #enterBelowNodes(label: number): void {
    const { byLabel, labelStart, parent } = this.#trie
    const from = labelStart[KINDS * label + BELOW_NODE]!
    const to = labelStart[KINDS * label + BELOW_LOOP]!
    if (to - from > this.#activeCount) {
      this.#visits += this.#activeCount
      for (let index = 0; index < this.#activeCount; index += 1)
        this.#enterChild(from, to, this.#active[index]!)
      return
    }
    this.#visits += to - from
    for (let index = from; index < to; index += 1) {
      const node = byLabel[index]!
      if (this.#activeAt[parent[node]!] === this.#now - 1) this.#enter(node)
    }
  }

  /** Enters the nodes `byLabel[from..to)` below the loops `firstLoop..lastLoop`. */
  #enterBelowLoops(from: number, to: number, firstLoop: number, lastLoop: number): void {
    const { byLabel, parent } = this.#trie
    if (to - from > lastLoop - firstLoop) {
      this.#visits += lastLoop - firstLoop
      for (let index = firstLoop; index < lastLoop; index += 1)
        this.#enterChild(from, to, this.#loops[index]!)
      return
    }
    this.#visits += to - from
    for (let index = from; index < to; index += 1) {
      const node = byLabel[index]!
      const since = this.#loopAt[parent[node]!]!
      if (since >= this.#first && since < this.#now) this.#enter(node)
    }
  }

  /** A pure node at most makes its loop active, for good: once is enough until the last step. */
  #enterPure(label: number, loops: number, isLast: boolean): void {
    const from = this.#trie.labelStart[KINDS * label + PURE]!
    const to = this.#trie.labelStart[KINDS * label + PURE + 1]!
    if (isLast || to - from < FEW) return this.#enterBelowLoops(from, to, 0, loops)
    const entered = this.#done.get(label) ?? 0
    if (entered === loops) return
    this.#enterBelowLoops(from, to, entered, loops)
    this.#done.set(label, loops)
  }

  #enterChild(from: number, to: number, above: number): void {
    const { byLabel, parent } = this.#trie
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >> 1
      if (parent[byLabel[middle]!]! < above) low = middle + 1
      else high = middle
    }
    if (low < to && parent[byLabel[low]!] === above) this.#enter(byLabel[low]!)
  }
}
