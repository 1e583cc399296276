import type { Resource } from '../../workload/domain.ts'
import type { Peer } from './contender.ts'
import { requirePeer } from '../../process/installed-peer.ts'
import { regexpSource } from './pattern-text.ts'

interface Re2Module {
  readonly RE2: new (source: string, flags: string) => { readonly test: (text: string) => boolean }
}

/**
 * Google's RE2, which never backtracks, compiled to WebAssembly. The `re2` package is not used,
 * because its installation downloads a binary or needs a C++ compiler.
 */
export const re2: Peer = {
  name: 're2-wasm',
  cannot: { addresses: 'a range is not a regular expression over text' },
  maxSize: 1000,
  whyNotMore: 'runs out of its 16 MiB of memory',
  create(domain, resources) {
    const re2Module = requirePeer('re2-wasm') as Re2Module | null
    if (re2Module === null) return null
    const combine = (decision: Resource['decision']) => {
      const sources = resources
        .filter((each) => each.decision === decision)
        .map((each) => regexpSource(domain, each.pattern))
      // RE2 has no lookahead. `[^\s\S]` never matches.
      const source = sources.length === 0 ? String.raw`[^\s\S]` : `^(?:${sources.join('|')})$`
      return new re2Module.RE2(source, 'us')
    }
    const denies = combine('deny')
    const allows = combine('allow')
    return (text) => (!denies.test(text) && allows.test(text) ? 1 : 0)
  },
}
