import { MAX_PATH_BYTES } from '../path/path.ts'
import { keyOf, type ProductNode } from './path-product.ts'

/** Nodes to be looked at, those with the shortest path first, each of them once. */
export interface PathQueue {
  readonly add: (node: ProductNode) => void
  readonly take: () => ProductNode | null
  /** Whether a node was left out because its path is longer than 4096 bytes. */
  readonly wasCut: () => boolean
}

export function createPathQueue(start: ProductNode): PathQueue {
  const settled = new Set<string>()
  // One list for each length, since letters take one to four bytes.
  const lists: ProductNode[][] = [[start]]
  let bytes = 0
  let index = 0
  let isCut = false
  return {
    add: (node) => {
      if (node.bytes > MAX_PATH_BYTES) isCut = true
      else (lists[node.bytes] ??= []).push(node)
    },
    take: () => {
      while (bytes < lists.length) {
        const node = lists[bytes]?.[index++]
        if (node === undefined) {
          lists[bytes++] = []
          index = 0
        } else if (!settled.has(keyOf(node))) {
          settled.add(keyOf(node))
          return node
        }
      }
      return null
    },
    wasCut: () => isCut,
  }
}
