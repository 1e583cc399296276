import { MAX_PATH_LENGTH } from './plain-path.ts'

/**
 * Work that similar patterns cannot all cause in one path. Its weight is the sum of their weights,
 * limited by `limit`, because a path has no room for more.
 */
export interface PathShare {
  readonly weight: number
  readonly limit: number
  /** For each unit of weight. */
  readonly steps: number
}

/** The cost that path patterns can add to one decision, in a form that can be summed. */
export interface PathLoad {
  /** Steps that patterns do not share. */
  readonly plain: number
  readonly shares: ReadonlyMap<string, PathShare>
  /** The pattern that costs most alone, and its cost; null without any `*`. */
  readonly dearest: string | null
  readonly dearestSteps: number
}

export interface PathLoadDraft extends PathLoad {
  plain: number
  readonly shares: Map<string, PathShare & { weight: number }>
  dearest: string | null
  dearestSteps: number
}

export function createPathLoad(): PathLoadDraft {
  return { plain: 0, shares: new Map(), dearest: null, dearestSteps: 0 }
}

/** Sums the loads without changing them. */
export function sumPathLoads(loads: Iterable<PathLoad>): PathLoad {
  const sum = createPathLoad()
  for (const { plain, shares, dearest, dearestSteps } of loads) {
    sum.plain += plain
    for (const [key, share] of shares) {
      const known = sum.shares.get(key)
      // By reference: most are in one load alone.
      const weight = (known?.weight ?? 0) + share.weight
      sum.shares.set(key, known === undefined ? share : { ...share, weight })
    }
    noteDearest(sum, dearest, dearestSteps)
  }
  return sum
}

export function noteDearest(load: PathLoadDraft, text: string | null, steps: number): void {
  if (steps <= load.dearestSteps) return
  load.dearest = text
  load.dearestSteps = steps
}

/** Returns the steps of the share by itself. Shares of one key have one limit and one price. */
export function addShare({ shares }: PathLoadDraft, key: string, share: PathShare): number {
  const known = shares.get(key)
  if (known === undefined) shares.set(key, { ...share })
  else known.weight += share.weight
  return stepsOf(share)
}

/**
 * Maximum number of steps of a decision with the path patterns, for any path and either case
 * sensitivity. Compare it with `MAX_PATH_COST`. The cost of a sum is at most the sum of the costs.
 */
export function pathCost({ plain, shares }: PathLoad): number {
  let steps = plain
  for (const share of shares.values()) steps += stepsOf(share)
  return Math.ceil(steps)
}

function stepsOf({ weight, limit, steps }: PathShare): number {
  return steps * Math.min(weight, limit)
}

/** Maximum number of names of at least `length` characters in one path. */
export function namesOf(length: number): number {
  return Math.floor(MAX_PATH_LENGTH / (Math.max(1, length) + 1))
}

/** Patterns, or parts of them, that differ only in the text of their longest piece. */
export interface Alike {
  readonly key: string
  /** Maximum number of them in one path, because each has its own text there. */
  readonly limit: number
}

/** `text` is a pattern or whole names of one; a piece is text without `/` and `*`. */
export function alikeTo(text: string): Alike {
  let longest = 0
  let at = 0
  for (let from = 0, index = 0; index <= text.length; index += 1) {
    if (index < text.length && text[index] !== '/' && text[index] !== '*') continue
    if (index - from > longest) {
      longest = index - from
      at = from
    }
    from = index + 1
  }
  if (longest === 0) return { key: text, limit: 1 }
  // A name begins with one text of a length, and ends in one. Between, one begins at each
  // character.
  const isInner = text[at - 1] === '*' && text[at + longest] === '*'
  return {
    key: `${text.slice(0, at)}\n${longest}${text.slice(at + longest)}`,
    limit: isInner ? MAX_PATH_LENGTH : namesOf(longest),
  }
}
