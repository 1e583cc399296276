import type { CanonicalRequest } from '../../decision/decision.ts'
import type { Search } from '../meter.ts'
import type { Space } from '../space.ts'
import type { Indices, Suspect } from '../suspects.ts'

/**
 * A removed deny of names or addresses. It may matter only together with an allowed counterpart.
 */
export interface PairSuspect<P> extends Suspect<P> {
  /** Searches for a request with a name and an address that no other change reports. */
  readonly find: () => Search<CanonicalRequest>
}

/** A space with indices of its patterns. */
export interface IndexedSpace<P> {
  readonly space: Space<P>
  readonly indices: Indices<P>
}
