import { intoBuckets, numbersTo, type Buckets } from './buckets.ts'
import { NamedChildren } from './named-children.ts'
import type { Token } from './pattern-labels.ts'

/** No node, label, loop or chunk. */
export const NONE = -1
/** The node where reading begins. */
export const ROOT = 0

/** Lists of tokens of exactly one name each, in one tree. */
export interface TokenTrie {
  readonly size: number
  /** A parent comes before its children. */
  readonly parent: Int32Array
  readonly depth: Int32Array
  /** The label that leads to the node; `NONE` for the root and below `*`. */
  readonly label: Int32Array
  /** The child that any one name leads to, or `NONE`. */
  readonly star: Int32Array
  /** The children by literal names, by parent, sorted by label; likewise by globs. */
  readonly literals: Buckets
  readonly globs: Buckets
}

export interface TokenTrieBuilder {
  /** The node where the tokens end; it is made when it is new. */
  add(tokens: readonly Token[]): number
  finish(): TokenTrie
}

/** No token may be `**`. `isGlob` tells of labels once all tokens are added. */
export function createTokenTrieBuilder(isGlob: (label: number) => boolean): TokenTrieBuilder {
  const parent = [NONE]
  const depth = [0]
  const label = [NONE]
  const star = [NONE]
  const named = new NamedChildren()

  const childOf = (node: number, by: Token): number => {
    const known = typeof by === 'number' ? named.find(node, by) : star[node]!
    if (known !== undefined && known !== NONE) return known
    const child = parent.length
    parent.push(node)
    depth.push(depth[node]! + 1)
    label.push(typeof by === 'number' ? by : NONE)
    star.push(NONE)
    if (typeof by === 'number') named.add(node, by, child)
    else star[node] = child
    return child
  }

  return {
    add: (tokens) => tokens.reduce(childOf, ROOT),
    finish() {
      const size = parent.length
      const labels = label.reduce((most, each) => Math.max(most, each + 1), 0)
      const byLabel = intoBuckets(label, numbersTo(size), labels).items
      const below = (isKind: (node: number) => boolean): Buckets =>
        intoBuckets(
          parent.map((above, node) => (isKind(node) ? above : NONE)),
          byLabel,
          size,
        )
      return {
        size,
        parent: Int32Array.from(parent),
        depth: Int32Array.from(depth),
        label: Int32Array.from(label),
        star: Int32Array.from(star),
        literals: below((node) => label[node] !== NONE && !isGlob(label[node]!)),
        globs: below((node) => label[node] !== NONE && isGlob(label[node]!)),
      }
    },
  }
}
