import type { LabelledGlob } from './pattern-labels.ts'

/** Finds which globs match a name. */
export interface GlobFinder {
  /** Appends the labels of the globs that match, each once, in no order. */
  find(name: string, into: number[]): void
  /** Pieces looked for so far. */
  visits(): number
}

/** What may follow after the pieces so far. */
interface Branch {
  /** The label of the glob that ends here in `*`. */
  open: number | null
  /** The last pieces, which end the name, and the labels of their globs. Null while there is none. */
  ends: Pieces<number> | null
  /** The pieces that a further `*` follows, likewise: an empty `Map` is larger than a branch. */
  next: Pieces<Branch> | null
}

/** Texts by their length, so that only the lengths that occur are cut out of a name. */
type Pieces<T> = Map<number, Map<string, T>>

/**
 * All globs in one tree by their pieces. A piece is taken as far left as possible, so that each
 * beginning of globs is in one place at a time, and is tried once for all globs that share it:
 * 25,000 globs such as `*x17*y` do not mean 25,000 searches in every name.
 */
export function createGlobFinder(globs: readonly LabelledGlob[]): GlobFinder {
  const beginnings: Pieces<Branch> = new Map()
  for (const { label, pieces } of globs) {
    const last = pieces.at(-1) ?? ''
    let branch: Branch | null = null
    for (const piece of pieces.slice(0, -1)) {
      const next: Pieces<Branch> = branch === null ? beginnings : (branch.next ??= new Map())
      branch = getOrAdd(next, piece, createBranch)
    }
    if (branch === null) continue
    if (last === '') branch.open = label
    else getOrAdd((branch.ends ??= new Map()), last, () => label)
  }
  let visits = 0

  return {
    find(name, into) {
      const pending: { readonly branch: Branch; readonly from: number }[] = []
      for (const [length, branches] of beginnings) {
        visits += 1
        const branch = length <= name.length ? branches.get(name.slice(0, length)) : undefined
        if (branch !== undefined) pending.push({ branch, from: length })
      }
      for (let reached = pending.pop(); reached !== undefined; reached = pending.pop()) {
        const { branch, from } = reached
        if (branch.open !== null) into.push(branch.open)
        for (const [length, labels] of branch.ends ?? []) {
          visits += 1
          const label = name.length - length < from ? undefined : labels.get(name.slice(-length))
          if (label !== undefined) into.push(label)
        }
        for (const [length, branches] of branch.next ?? []) {
          visits += findPieces(branches, { name, from, length }, (next, end) => {
            pending.push({ branch: next, from: end })
          })
        }
      }
    },
    visits: () => visits,
  }
}

interface Span {
  readonly name: string
  readonly from: number
  readonly length: number
}

/** Tells `found` the leftmost end of each piece that occurs; returns how much was looked at. */
function findPieces(
  branches: ReadonlyMap<string, Branch>,
  { name, from, length }: Span,
  found: (branch: Branch, end: number) => void,
): number {
  const starts = name.length - length - from + 1
  if (starts <= 0) return 1
  if (branches.size <= starts) {
    for (const [piece, branch] of branches) {
      const at = name.indexOf(piece, from)
      if (at >= 0) found(branch, at + length)
    }
    return branches.size
  }
  const seen = new Set<Branch>()
  for (let at = from; at + length <= name.length && seen.size < branches.size; at += 1) {
    const branch = branches.get(name.slice(at, at + length))
    if (branch === undefined || seen.has(branch)) continue
    seen.add(branch)
    found(branch, at + length)
  }
  return starts
}

function createBranch(): Branch {
  return { open: null, ends: null, next: null }
}

function getOrAdd<T>(pieces: Pieces<T>, text: string, create: () => T): T {
  let sameLength = pieces.get(text.length)
  if (sameLength === undefined) pieces.set(text.length, (sameLength = new Map<string, T>()))
  let value = sameLength.get(text)
  if (value === undefined) sameLength.set(text, (value = create()))
  return value
}
