import { foldCase } from '../../path/path.ts'
import type { GlobFinder } from './glob-finder.ts'
import type { PatternLabels } from './pattern-labels.ts'
import { NONE, ROOT, type PlaceTrie } from './place-trie.ts'
import { MAX_PATH_LENGTH } from './plain-path.ts'
import type { WalkParts } from './walk-parts.ts'

/** A step is to go from one node to the next. These take longer. bench: worst */
const STEPS_OF_PIECE = 7
const STEPS_OF_LOOP = 3
const STEPS_OF_WAY = 3
/** A pattern that matches is found and then listed; one whose tail is read is only looked at. */
const STEPS_OF_MATCH = 30
const STEPS_OF_END = 2
/** A glob that matches a name: in the list of labels, and below the root of chunks. */
const STEPS_OF_FOUND = 8

/**
 * How many steps `PathWalk` and `GlobFinder` take at most, on any path, whether letter case counts or
 * not. The cost of two sets of patterns together is at most the sum of theirs.
 *
 * Names differ, so of the children by literal names at most one goes on, and only the dearest counts.
 * Heads and tails are read once. A chunk may begin at each name that its first place matches: a
 * path of `MAX_PATH_LENGTH` has at most one such name for every `length + 1` of its characters.
 */
export function findWalkCost(parts: WalkParts, labels: PatternLabels, finder: GlobFinder): number {
  const names = readNames(labels)
  const loops = findLoopCosts(parts, names)
  const { heads, chunks, tails, loopOfHead, groupsOfHead, chunkOf, endsOfTail } = parts
  const headCosts = findCosts(heads, names, (node) => {
    const loop = loopOfHead[node]!
    const ending = groupsOfHead.start[node + 1]! - groupsOfHead.start[node]!
    return ending * STEPS_OF_MATCH + (loop === NONE ? 0 : loops[loop]!)
  })
  const tailCosts = findCosts(tails, names, (node) => {
    let cost = 0
    for (let at = endsOfTail.start[node]!; at < endsOfTail.start[node + 1]!; at += 1) {
      // Of the tails behind the first loop one path has few; the others count with their loops.
      const isOfRoot = parts.loopOfEnd[endsOfTail.items[at]!] === parts.rootLoop
      cost += isOfRoot ? STEPS_OF_MATCH : STEPS_OF_END
    }
    return cost
  })
  const chunkCosts = findCosts(chunks, names, (node) => (chunkOf[node] === NONE ? 0 : 1))
  return Math.ceil(
    headCosts[ROOT]! +
      tailCosts[ROOT]! +
      costOfChunks(chunks, names, chunkCosts) +
      costOfGlobs(finder),
  )
}

/** By label: the name as it is where letter case does not count, and its least length. */
interface Names {
  readonly folded: readonly string[]
  readonly length: Int32Array
}

function readNames({ count, literals, globs }: PatternLabels): Names {
  const folded: string[] = []
  const length = new Int32Array(count)
  for (const [name, label] of literals) {
    folded[label] = foldCase(name)
    length[label] = name.length
  }
  for (const { label, pieces } of globs)
    length[label] = pieces.reduce((all, piece) => all + piece.length, 0)
  return { folded, length }
}

/** By loop: what opening it and all loops behind it takes. A loop comes before those behind it. */
function findLoopCosts(parts: WalkParts, names: Names): Float64Array {
  const { loopCount, rootLoop, groupsOfLoop, loopOfEnd, fromOfWay, toOfWay } = parts
  const costs = new Float64Array(loopCount)
  for (let loop = 0; loop < loopCount; loop += 1) {
    const ending = groupsOfLoop.start[loop + 1]! - groupsOfLoop.start[loop]!
    costs[loop] = STEPS_OF_LOOP + ending * STEPS_OF_MATCH
  }
  for (const loop of loopOfEnd) if (loop !== rootLoop) costs[loop]! += STEPS_OF_MATCH
  for (let way = toOfWay.length - 1; way >= 0; way -= 1)
    if (fromOfWay[way] !== rootLoop)
      costs[fromOfWay[way]!]! += 2 * STEPS_OF_WAY + costs[toOfWay[way]!]!
  if (rootLoop !== NONE) costs[rootLoop]! += costFromRoot(parts, names, costs)
  return costs
}

/**
 * What all loops take that one path can open from the first. A chunk ends at its last name, and a path
 * has no room for all names. Of the chunks with so many names that are all literal, one ends there.
 */
function costFromRoot(parts: WalkParts, names: Names, loops: Float64Array): number {
  const { chunks, chunkOf, fromRoot } = parts
  const texts = literalTexts(chunks, names)
  /** By number of names, those that are all literal apart; and by what cannot end at one name twice. */
  const byDepth = new Map<number, Map<string, Item>>()
  let cost = 0
  for (let node = 1; node < chunks.size; node += 1) {
    const loop = chunkOf[node] === NONE ? NONE : fromRoot[chunkOf[node]!]!
    if (loop === NONE) continue
    const label = chunks.label[node]!
    const key = texts[node] ?? names.folded[label]
    if (key === undefined) {
      cost += loops[loop]!
      continue
    }
    const depth = texts[node] === null ? -chunks.depth[node]! : chunks.depth[node]!
    const items = byDepth.get(depth) ?? new Map<string, Item>()
    byDepth.set(depth, items)
    const known = items.get(key)?.cost ?? 0
    items.set(key, { cost: known + loops[loop]!, length: names.length[label]! + 1 })
  }
  for (const items of byDepth.values()) cost += dearestInPath([...items.values()])
  return cost
}

/** By node: the names that lead to it, null where they are not all literal. */
function literalTexts({ size, parent, label }: PlaceTrie, { folded }: Names): (string | null)[] {
  const texts: (string | null)[] = ['']
  for (let node = 1; node < size; node += 1) {
    const above = texts[parent[node]!] ?? null
    const name = folded[label[node]!]
    texts.push(above === null || name === undefined ? null : `${above}/${name}`)
  }
  return texts
}

interface Item {
  readonly cost: number
  readonly length: number
}

/** The most that items of these lengths can cost in one path, the last of them in part. */
function dearestInPath(items: readonly Item[]): number {
  let room = MAX_PATH_LENGTH
  let total = 0
  for (const { cost, length } of items.toSorted((a, b) => b.cost / b.length - a.cost / a.length)) {
    if (room <= 0) break
    total += cost * Math.min(1, room / length)
    room -= length
  }
  return total
}

/** By node: what it takes once a path is there, with all that may follow. */
function findCosts(
  trie: PlaceTrie,
  names: Names,
  endingAt: (node: number) => number,
): Float64Array {
  const costs = new Float64Array(trie.size)
  const { globs, star } = trie
  for (let node = trie.size - 1; node >= 0; node -= 1) {
    let cost = 1 + endingAt(node) + (star[node] === NONE ? 0 : costs[star[node]!]!)
    for (let index = globs.start[node]!; index < globs.start[node + 1]!; index += 1)
      cost += 1 + costs[globs.items[index]!]!
    costs[node] = cost + dearestLiteral(trie, names, node, (child) => costs[child]!)
  }
  return costs
}

/** Children whose names fold to one name count together. */
function dearestLiteral(
  { literals, label }: PlaceTrie,
  { folded }: Names,
  node: number,
  costOf: (child: number) => number,
): number {
  const first = literals.start[node]!
  const last = literals.start[node + 1]!
  if (last - first === 0) return 0
  if (last - first === 1) return costOf(literals.items[first]!)
  const sums = new Map<string, number>()
  let dearest = 0
  for (let index = first; index < last; index += 1) {
    const child = literals.items[index]!
    const name = folded[label[child]!]!
    const sum = (sums.get(name) ?? 0) + costOf(child)
    sums.set(name, sum)
    dearest = Math.max(dearest, sum)
  }
  return dearest
}

/** A glob behind which a chunk ends is no more than a glob found. */
function costOfChunks(trie: PlaceTrie, names: Names, costs: Float64Array): number {
  if (trie.size === 1) return 0
  const { globs, literals, star, label } = trie
  const rate = (node: number): number => costs[node]! / (names.length[label[node]!]! + 1)
  const isLeaf = (node: number): boolean =>
    star[node] === NONE &&
    globs.start[node] === globs.start[node + 1] &&
    literals.start[node] === literals.start[node + 1]
  // Each name leaves the root: half of the characters are names at most.
  let perCharacter = 1 / 2 + dearestLiteral(trie, names, ROOT, rate)
  for (let index = globs.start[ROOT]!; index < globs.start[ROOT + 1]!; index += 1) {
    const child = globs.items[index]!
    if (!isLeaf(child)) perCharacter += rate(child)
  }
  return MAX_PATH_LENGTH * perCharacter
}

/** Of the names of every length the dearest, as often as they have room in a path. */
function costOfGlobs(finder: GlobFinder): number {
  const most = finder.most()
  let dearest = 0
  let next = 1
  for (let shortest = 1; shortest < MAX_PATH_LENGTH; shortest = next) {
    next = Math.ceil((shortest + 1) * 1.4)
    const { visits, found } = most(next - 1)
    const steps = visits * STEPS_OF_PIECE + found * STEPS_OF_FOUND
    dearest = Math.max(dearest, (MAX_PATH_LENGTH / (shortest + 1)) * steps)
  }
  return dearest
}
