import { createPathProduct, isAnswer, pathOf, type PathQuestion } from './path-product.ts'
import { createPathQueue } from './path-queue.ts'

export type FoundPath =
  | {
      readonly kind: 'found'
      /** Canonical, and as short as can be. Its letters are folded when the patterns' are. */
      readonly path: string
    }
  | { readonly kind: 'none' }
  /** The budget was used up, or only paths near 4096 bytes of folded letters could be meant. */
  | { readonly kind: 'unknown' }

/** Steps of `findPath` before it gives up. Two ordinary patterns take a few hundred. */
export const DEFAULT_PATH_BUDGET = 200_000

/** Steps that are left for several questions, and go down with each. */
export interface PathMeter {
  left: number
}

/**
 * Finds a canonical path that distinguishes sets of patterns. Exact: `none` means that no such path
 * exists within the limit of 4096 bytes. The search covers the product of the patterns' automata,
 * shortest paths first. `budget` bounds its steps and therefore its memory.
 */
export function findPath(
  question: PathQuestion,
  budget: number | PathMeter = DEFAULT_PATH_BUDGET,
): FoundPath {
  const meter = typeof budget === 'number' ? { left: budget } : budget
  // Reading the patterns costs as much as a short search, and there may be many questions.
  meter.left -= sizeOf(question)
  if (meter.left < 0) return { kind: 'unknown' }
  const product = createPathProduct(question, (steps) => {
    meter.left -= steps
  })
  if (product === null) return { kind: 'unknown' }
  const queue = createPathQueue(product.start)
  for (let node = queue.take(); node !== null; node = queue.take()) {
    if (isAnswer(node)) return { kind: 'found', path: pathOf(node) }
    const cost = 1 + node.inAll.length + node.inNone.length
    for (const letter of product.lettersAt(node)) {
      meter.left -= cost
      if (meter.left < 0) return { kind: 'unknown' }
      const next = product.step(node, letter)
      if (next !== null) queue.add(next)
    }
  }
  // Where case is ignored, a path can have fewer bytes than its folded form, but not in ASCII.
  return { kind: queue.wasCut() && !product.isAscii ? 'unknown' : 'none' }
}

function sizeOf({ inAll, inNone }: PathQuestion): number {
  let size = 0
  for (const segments of [...inAll, ...inNone])
    for (const segment of segments)
      size += 'recursive' in segment ? 2 : segment.pieces.join('*').length + 1
  return size
}
