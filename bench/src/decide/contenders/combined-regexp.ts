import type { Resource } from '../../workload/domain.ts'
import type { Peer } from './contender.ts'
import { regexpSource } from './pattern-text.ts'

/** Combines all denies into one regular expression and all allows into another. */
export const combinedRegexp: Peer = {
  name: 'one RegExp',
  cannot: { addresses: 'a range is not a regular expression over text' },
  maxSize: 10_000,
  create(domain, resources) {
    const combine = (decision: Resource['decision']): RegExp => {
      const sources = resources
        .filter((each) => each.decision === decision)
        .map((each) => regexpSource(domain, each.pattern))
      // Without alternatives the expression must not match; an empty group would match ''.
      return new RegExp(sources.length === 0 ? '(?!)' : `^(?:${sources.join('|')})$`, 's')
    }
    const denies = combine('deny')
    const allows = combine('allow')
    return (text) => (!denies.test(text) && allows.test(text) ? 1 : 0)
  },
}
