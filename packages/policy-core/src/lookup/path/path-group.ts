import type { GlobSegment } from '../../path/glob.ts'

/** A distinct pattern, and the number of its group. */
export interface PathGroup {
  /** Placed, and folded where letter case does not count. */
  readonly segments: readonly GlobSegment[]
  readonly group: number
}
