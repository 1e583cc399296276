import { scan, type Peer } from './contender.ts'
import { requirePeer } from '../../process/installed-peer.ts'

interface GlobModule {
  readonly globToRegex: (glob: string) => string
}

/**
 * The matcher of a sandbox for coding agents, which turns each glob into a regular expression. It
 * is importable but not part of the public interface. `/a/**` does not match `/a` itself, so both
 * are given.
 */
export const sandboxRuntime: Peer = {
  name: 'sandbox-runtime',
  cannot: {
    hosts: 'its `*.` matches any depth, so a single label cannot be expressed',
    addresses: 'has no address ranges',
  },
  maxSize: 10_000,
  create(_domain, resources) {
    const globs = requirePeer(
      '@anthropic-ai/sandbox-runtime/dist/sandbox/glob-pattern.js',
    ) as GlobModule | null
    if (globs === null) return null
    const both = resources.flatMap((each) =>
      each.pattern.endsWith('/**')
        ? [each, { ...each, pattern: each.pattern.slice(0, -3) }]
        : [each],
    )
    return scan(
      both,
      (pattern) => {
        const expression = new RegExp(globs.globToRegex(pattern))
        return (text: string) => expression.test(text)
      },
      (text) => text,
    )
  },
}
