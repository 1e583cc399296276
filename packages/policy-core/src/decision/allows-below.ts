import { findPath } from '../language/find-path.ts'
import type { Segments } from '../language/path-automaton.ts'
import { globMatches, literalSegment, readGlobPath, type GlobSegment } from '../path/glob.ts'
import type { FilesystemAction } from '../policy/policy.ts'
import { requireCompiled, type CompiledPolicy } from './compiled-policy.ts'
import { enforcedAt } from './conditions.ts'
import { linearRules } from './linear-rules.ts'

/** Steps for patterns that cover a directory only together. Few such patterns need a thousand. */
const BUDGET = 20_000

/**
 * Tells whether every path at and below a canonical path is allowed as far as no deny matches, now
 * and for names that are made later: by a pattern such as `/data/**`, by several patterns together,
 * or by a default that observes. Denies play no part, so it is no decision; see `pathDenies`.
 * Returns false too when patterns with many stars leave the question open. Takes O(resources).
 *
 * Throws `PolicyError` with `ERR_OPTION_INVALID` for a policy that is not compiled.
 */
export function allowsAllBelow(
  policy: CompiledPolicy,
  request: { readonly action: FilesystemAction; readonly path: string },
  options: { readonly now?: number | undefined } = {},
): boolean {
  requireCompiled('policy', policy)
  if (policy.conditions?.observes === true) return true
  const root = readGlobPath(request.path, policy.caseSensitive)
  const allows = allowPatterns(enforcedAt(policy, options.now), request.action)
  // A pattern that ends in `**` and matches a path matches all below it too.
  if (allows.some((segments) => isOpenEnded(segments) && globMatches(segments, root))) return true
  const reaching = allows.filter((segments) => mayReachBelow(segments, root.segments))
  if (!reaching.some((segments) => segments.some(isRecursive))) return false
  const below = [...root.segments.map(literalSegment), { recursive: true } as const]
  return findPath({ inAll: [below], inNone: reaching }, BUDGET).kind === 'none'
}

function allowPatterns(policy: CompiledPolicy, action: FilesystemAction): Segments[] {
  return linearRules(policy)
    .filter(
      ({ active, actions, identity }) =>
        active && identity.decision === 'allow' && actions.includes(action),
    )
    .flatMap(({ resources }) =>
      resources.flatMap((resource) =>
        resource.domain === 'filesystem' && resource.segments !== null ? [resource.segments] : [],
      ),
    )
}

function isOpenEnded(segments: Segments): boolean {
  const last = segments.at(-1)
  return last !== undefined && isRecursive(last)
}

function isRecursive(segment: GlobSegment): boolean {
  return 'recursive' in segment
}

/** False only for a pattern that differs from the names by a name without a star. */
function mayReachBelow(segments: Segments, names: readonly string[]): boolean {
  for (const [index, name] of names.entries()) {
    const segment = segments[index]
    if (segment === undefined) return false
    if ('recursive' in segment) return true
    if (segment.pieces.length === 1 && segment.pieces[0] !== name) return false
  }
  return true
}
