import type { LabelledGlob } from './pattern-labels.ts'
import { Occurrences } from './occurrences.ts'
import { Pieces } from './pieces.ts'

/** Finds which globs match a name. */
export interface GlobFinder {
  /** Appends the labels of the globs that match, each once, in no order. */
  find(name: string, into: number[]): void
  /** Pieces looked for so far. */
  visits(): number
}

/** Possible continuations after the pieces so far. */
interface Branch {
  /** The label of the glob that ends here in `*`. */
  open: number | null
  /**
   * The last pieces, which end the name, with the labels of their globs. Null means empty.
   */
  ends: Pieces<number> | null
  /** The pieces that a further `*` follows, likewise. */
  next: Pieces<Branch> | null
}

/**
 * All globs in one tree by their pieces. A piece matches as far left as possible, so each prefix of
 * globs has one position at a time and is tried once for all globs that share it. 25,000 globs such
 * as `*x17*y` therefore do not need 25,000 searches in every name.
 */
export function createGlobFinder(globs: readonly LabelledGlob[]): GlobFinder {
  const beginnings = new Pieces<Branch>()
  const occurrences = new Occurrences()
  for (const { label, pieces } of globs) {
    const last = pieces.at(-1) ?? ''
    let branch: Branch | null = null
    for (const piece of pieces.slice(0, -1)) {
      if (branch !== null) occurrences.add(piece)
      const next: Pieces<Branch> = branch === null ? beginnings : (branch.next ??= new Pieces())
      branch = next.getOrAdd(piece, createBranch)
    }
    if (branch === null) continue
    if (last === '') branch.open = label
    else (branch.ends ??= new Pieces()).getOrAdd(last, () => label)
  }
  let visits = 0

  return {
    find(name, into) {
      const pending: { readonly branch: Branch; readonly from: number }[] = []
      const reach = (branch: Branch, from: number): void => void pending.push({ branch, from })
      occurrences.begin(name)
      visits += beginnings.atStart(name, reach)
      for (let reached = pending.pop(); reached !== undefined; reached = pending.pop()) {
        const { branch, from } = reached
        if (branch.open !== null) into.push(branch.open)
        visits += branch.ends?.atEnd(name, from, (label) => into.push(label)) ?? 0
        visits += branch.next?.within(occurrences, from, name.length, reach) ?? 0
      }
    },
    visits: () => visits + occurrences.visits,
  }
}

function createBranch(): Branch {
  return { open: null, ends: null, next: null }
}
