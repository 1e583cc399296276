import type { CanonicalRequest } from '../../decision/decision.ts'
import type { Search } from '../meter.ts'
import type { Space } from '../space.ts'
import type { Indices, Suspect } from '../suspects.ts'

/**
 * A deny of names or addresses that is gone, which may matter only beside an allowed other half.
 */
export interface PairSuspect<P> extends Suspect<P> {
  /** Looks for a request with a name and an address that no other change tells of. */
  readonly find: () => Search<CanonicalRequest>
}

/** A space with its patterns made ready to be found. */
export interface IndexedSpace<P> {
  readonly space: Space<P>
  readonly indices: Indices<P>
}
