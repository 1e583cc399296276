import { TrieReading, type NameLabels } from './trie-reading.ts'
import { NONE } from './token-trie.ts'
import type { WalkParts } from './walk-parts.ts'

/**
 * Matches a path with all patterns in one forward and one backward pass over its names, without
 * backtracking. One path at a time.
 *
 * A loop that a path has reached stays open, so only the leftmost occurrence of the chunk before it
 * counts. Each way from an open loop waits for its chunk and is taken once. A chunk is searched
 * once at each name for all loops that wait for it. Tails end with the path, so they are read once,
 * backwards. `pattern-load.ts` bounds the cost.
 */
export class PathWalk {
  readonly #parts: WalkParts
  readonly #heads: TrieReading
  readonly #chunks: TrieReading
  readonly #tails: TrieReading
  /** Number of names read before the loop opened; `NONE` while it is closed. */
  readonly #openAt: Int32Array
  readonly #open: number[] = []
  /** Ways that wait for a chunk, by chunk, in the order in which their loops opened. */
  readonly #firstWay: Int32Array
  readonly #lastWay: Int32Array
  readonly #nextWay: Int32Array
  #steps = 0

  constructor(parts: WalkParts) {
    this.#parts = parts
    this.#heads = new TrieReading(parts.heads)
    this.#chunks = new TrieReading(parts.chunks)
    this.#tails = new TrieReading(parts.tails)
    this.#openAt = new Int32Array(parts.loopCount).fill(NONE)
    this.#firstWay = new Int32Array(parts.chunkCount).fill(NONE)
    this.#lastWay = new Int32Array(parts.chunkCount).fill(NONE)
    this.#nextWay = new Int32Array(parts.chunkOfWay.length).fill(NONE)
  }

  /** The steps of all walks so far, which `pattern-load.ts` bounds. */
  get steps(): number {
    return this.#steps + this.#heads.steps + this.#chunks.steps + this.#tails.steps
  }

  /** The groups of the patterns that match the path with these names, in no order. */
  find(names: readonly NameLabels[]): number[] {
    const found: number[] = []
    this.#readForward(names)
    const { groupsOfHead, groupsOfLoop } = this.#parts
    const { nodes, count } = this.#heads
    for (let index = 0; index < count; index += 1)
      this.#addAll(found, groupsOfHead.items, groupsOfHead.start, nodes[index]!)
    for (const loop of this.#open) this.#addAll(found, groupsOfLoop.items, groupsOfLoop.start, loop)
    this.#readTails(names, found)
    this.#close()
    return found
  }

  #readForward(names: readonly NameLabels[]): void {
    this.#heads.clear()
    this.#heads.begin()
    this.#chunks.clear()
    this.#openHeads(0)
    for (let index = 0; index < names.length; index += 1) {
      this.#heads.read(names[index]!)
      if (this.#open.length > 0 && this.#parts.chunkCount > 0) {
        this.#chunks.begin()
        this.#chunks.read(names[index]!)
        this.#endChunks(index + 1)
      }
      this.#openHeads(index + 1)
    }
  }

  #openHeads(at: number): void {
    const { loopOfHead } = this.#parts
    const { nodes, count } = this.#heads
    for (let index = 0; index < count; index += 1) {
      const loop = loopOfHead[nodes[index]!]!
      if (loop !== NONE) this.#openLoop(loop, at)
    }
  }

  #openLoop(loop: number, at: number): void {
    if (this.#openAt[loop] !== NONE) return
    this.#openAt[loop] = at
    this.#open.push(loop)
    const { waysOf, chunkOfWay } = this.#parts
    const end = waysOf.start[loop + 1]!
    this.#steps += 1 + end - waysOf.start[loop]!
    for (let index = waysOf.start[loop]!; index < end; index += 1) {
      const way = waysOf.items[index]!
      const chunk = chunkOfWay[way]!
      const last = this.#lastWay[chunk]!
      if (last === NONE) this.#firstWay[chunk] = way
      else this.#nextWay[last] = way
      this.#lastWay[chunk] = way
      this.#nextWay[way] = NONE
    }
  }

  /** Takes the ways whose chunk ends there. */
  #endChunks(at: number): void {
    const { chunks, chunkOf, fromRoot } = this.#parts
    const { nodes, count } = this.#chunks
    for (let index = 0; index < count; index += 1) {
      const chunk = chunkOf[nodes[index]!]!
      if (chunk === NONE) continue
      this.#steps += 1
      if (fromRoot[chunk] !== NONE) this.#openLoop(fromRoot[chunk]!, at)
      this.#takeWays(chunk, at - chunks.depth[nodes[index]!]!, at)
    }
  }

  #takeWays(chunk: number, from: number, at: number): void {
    const { fromOfWay, toOfWay } = this.#parts
    for (;;) {
      const way = this.#firstWay[chunk]!
      if (way === NONE || this.#openAt[fromOfWay[way]!]! > from) return
      this.#steps += 1
      this.#firstWay[chunk] = this.#nextWay[way]!
      if (this.#firstWay[chunk] === NONE) this.#lastWay[chunk] = NONE
      this.#openLoop(toOfWay[way]!, at)
    }
  }

  #readTails(names: readonly NameLabels[], found: number[]): void {
    if (this.#open.length === 0) return
    this.#tails.clear()
    this.#tails.begin()
    for (let from = names.length - 1; from >= 0 && this.#tails.count > 0; from -= 1) {
      this.#tails.read(names[from]!)
      const { nodes, count } = this.#tails
      for (let index = 0; index < count; index += 1) this.#endTails(nodes[index]!, from, found)
    }
  }

  /** Adds the patterns with this tail whose loop was open where the tail begins. */
  #endTails(node: number, from: number, found: number[]): void {
    const { endsOfTail, loopOfEnd, groupOfEnd } = this.#parts
    const last = endsOfTail.start[node + 1]!
    this.#steps += last - endsOfTail.start[node]!
    for (let at = endsOfTail.start[node]!; at < last; at += 1) {
      const end = endsOfTail.items[at]!
      const openAt = this.#openAt[loopOfEnd[end]!]!
      if (openAt !== NONE && openAt <= from) found.push(groupOfEnd[end]!)
    }
  }

  #addAll(found: number[], groups: Int32Array, start: Int32Array, at: number): void {
    this.#steps += start[at + 1]! - start[at]!
    for (let index = start[at]!; index < start[at + 1]!; index += 1) found.push(groups[index]!)
  }

  #close(): void {
    const { waysOf, chunkOfWay } = this.#parts
    for (const loop of this.#open) {
      this.#openAt[loop] = NONE
      for (let index = waysOf.start[loop]!; index < waysOf.start[loop + 1]!; index += 1) {
        const chunk = chunkOfWay[waysOf.items[index]!]!
        this.#firstWay[chunk] = NONE
        this.#lastWay[chunk] = NONE
      }
    }
    this.#open.length = 0
  }
}
