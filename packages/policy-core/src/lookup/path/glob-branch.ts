import type { Pieces } from './pieces.ts'

/** What may follow after the pieces so far. */
export interface Branch {
  /** The label of the glob that ends here in `*`. */
  open: number | null
  /** The last pieces, which end the name, and the labels of their globs. Null while there is none. */
  ends: Pieces<number> | null
  /** The pieces that a further `*` follows, likewise. */
  next: Pieces<Branch> | null
}

export function createBranch(): Branch {
  return { open: null, ends: null, next: null }
}
