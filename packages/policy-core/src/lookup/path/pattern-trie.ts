import {
  collectLabels,
  type LabelledGlob,
  type PatternLabels,
  type Place,
} from './pattern-labels.ts'
import { createGlobFinder, type GlobFinder } from './glob-finder.ts'
import { NamedChildren } from './named-children.ts'
import type { PathGroup } from './path-group.ts'

/** No node. */
export const NONE = -1
/** The node where every path begins. */
export const ROOT = 0

/** The node is that of a `**`. */
export const IS_LOOP = 1
/** The node has a child by some name. */
export const LEADS_ON = 2

/** Kinds of children that a label leads to: below a node that is no loop, */
export const BELOW_NODE = 0
/** below a loop, */
export const BELOW_LOOP = 1
/** and below a loop, leading on by no name: at most to a loop of their own. */
export const PURE = 2
export const KINDS = 3

/**
 * All patterns in one tree, a node for each beginning that some of them share, in flat arrays by
 * node. A loop is the node of a `**`: once reached it stays, and whoever reaches the node before
 * it has reached the loop. So a loop has no child by `*` (see `placesOf`) and none by `**`.
 */
export interface PatternTrie {
  readonly size: number
  readonly labels: PatternLabels
  /** Of all globs in `labels`; one, for it takes most of the memory. */
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
  /**
   * The children that labels lead to, by label, kind and parent: those of label `l` and kind `k`
   * from `labelStart[KINDS * l + k]` to the next.
   */
  readonly byLabel: Int32Array
  readonly labelStart: Int32Array
  /** The groups of the patterns that end at node `n`: from `groupStart[n]` to the next. */
  readonly groups: Int32Array
  readonly groupStart: Int32Array
}

/** Time and memory are linear in the segments of all patterns. */
export function buildPatternTrie(patterns: readonly PathGroup[]): PatternTrie {
  const collector = collectLabels()
  const parent = [NONE]
  const place: Place[] = ['any one']
  const star = [NONE]
  const loop = [NONE]
  const named = new NamedChildren()

  const childOf = (node: number, by: Place): number => {
    const known =
      by === 'any one' ? star[node]! : by === 'any number' ? loop[node]! : named.find(node, by)
    if (known !== undefined && known !== NONE) return known
    const child = parent.length
    parent.push(node)
    place.push(by)
    star.push(NONE)
    loop.push(NONE)
    if (by === 'any one') star[node] = child
    else if (by === 'any number') loop[node] = child
    else named.add(node, by, child)
    return child
  }

  const ends = new Int32Array(patterns.length)
  for (let index = 0; index < ends.length; index += 1)
    ends[index] = collector.placesOf(patterns[index]!.segments).reduce(childOf, ROOT)
  const labels = collector.finish()
  const traits = findTraits(parent, place)
  const kindOf = (node: number): number => {
    if (place[parent[node]!] !== 'any number') return BELOW_NODE
    return (traits[node]! & LEADS_ON) === 0 ? PURE : BELOW_LOOP
  }
  const buckets = place.map((by, node) => {
    if (typeof by !== 'number') return NONE
    return KINDS * by + kindOf(node)
  })
  const byParent = group(parent, numbersTo(place.length), place.length)
  const inBuckets = group(buckets, byParent.items, KINDS * labels.count)
  const byEnd = group(ends, numbersTo(ends.length), place.length)
  return {
    size: place.length,
    labels,
    globFinder: createGlobFinder(labels.globs),
    parent: Int32Array.from(parent),
    star: Int32Array.from(star),
    loop: Int32Array.from(loop),
    traits,
    globsBelow: findGlobsBelow(labels, parent, place),
    byLabel: inBuckets.items,
    labelStart: inBuckets.start,
    groups: byEnd.items.map((index) => patterns[index]!.group),
    groupStart: byEnd.start,
  }
}

function findTraits(parent: readonly number[], place: readonly Place[]): Uint8Array {
  const traits = new Uint8Array(parent.length)
  for (let node = 0; node < place.length; node += 1) {
    if (place[node] === 'any number') traits[node]! |= IS_LOOP
    else if (node !== ROOT) traits[parent[node]!]! |= LEADS_ON
  }
  return traits
}

function findGlobsBelow(
  { globs }: PatternLabels,
  parent: readonly number[],
  place: readonly Place[],
): Map<number, LabelledGlob[]> {
  const below = new Map<number, LabelledGlob[]>()
  if (globs.length === 0) return below
  const globOf = new Map(globs.map((glob) => [glob.label, glob]))
  for (let node = 0; node < place.length; node += 1) {
    const by = place[node]
    const glob = typeof by === 'number' ? globOf.get(by) : undefined
    if (glob === undefined) continue
    const siblings = below.get(parent[node]!)
    if (siblings === undefined) below.set(parent[node]!, [glob])
    else siblings.push(glob)
  }
  return below
}

function numbersTo(count: number): Int32Array {
  const numbers = new Int32Array(count)
  for (let number = 0; number < count; number += 1) numbers[number] = number
  return numbers
}

/** The items in buckets, in their order within each; an item whose bucket is below 0 in none. */
function group(
  bucketOf: ArrayLike<number>,
  items: Int32Array,
  buckets: number,
): { readonly items: Int32Array<ArrayBuffer>; readonly start: Int32Array } {
  const start = new Int32Array(buckets + 1)
  for (let item = 0; item < bucketOf.length; item += 1) {
    const bucket = bucketOf[item]!
    if (bucket >= 0) start[bucket + 1]! += 1
  }
  for (let bucket = 0; bucket < buckets; bucket += 1) start[bucket + 1]! += start[bucket]!
  const next = start.slice()
  const grouped = new Int32Array(start[buckets]!)
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index]!
    const bucket = bucketOf[item]!
    if (bucket < 0) continue
    grouped[next[bucket]!] = item
    next[bucket]! += 1
  }
  return { items: grouped, start }
}
