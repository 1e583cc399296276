import type { CanonicalRequest } from '@palisade/policy-core'
import type { SearchResult } from '../meter.ts'
import type { PatternSpace } from '../pattern-space.ts'
import type { Indices, Candidate } from '../candidates.ts'

/**
 * A removed deny of names or addresses. It may matter only together with an allowed counterpart.
 */
export interface PairCandidate<P> extends Candidate<P> {
  /** Searches for a request with a name and an address that no other change reports. */
  readonly find: () => SearchResult<CanonicalRequest>
}

/** A space with indices of its patterns. */
export interface IndexedSpace<P> {
  readonly space: PatternSpace<P>
  readonly indices: Indices<P>
}
