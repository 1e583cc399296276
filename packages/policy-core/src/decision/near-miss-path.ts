import {
  foldSegment,
  globMatches,
  readGlobPath,
  type GlobPath,
  type GlobSegment,
} from '../path/glob.ts'
import type { CompiledResource } from './compiled-policy.ts'
import type { Miss } from './miss.ts'

/**
 * Creates a function that says why a close path pattern does not cover `path`; null when far off.
 * The path is folded once here, because folding it for every rule would take seconds.
 */
export function createPathMiss(
  path: string,
  caseSensitive: boolean,
): (resource: CompiledResource) => Miss | null {
  const written = readGlobPath(path, caseSensitive)
  const folded = readGlobPath(path, false)
  return (resource) => {
    if (resource.domain !== 'filesystem' || resource.segments === null) return null
    if (caseSensitive && globMatches(resource.segments.map(foldSegment), folded))
      return { miss: 'letter_case', message: 'paths are compared with their letter case' }
    return missOfDepth(resource.segments, written)
  }
}

function missOfDepth(pattern: readonly GlobSegment[], path: GlobPath): Miss | null {
  const parent = pattern.slice(0, -1)
  if (endsInStar(pattern)) {
    if (globMatches(parent, path))
      return {
        miss: 'directory_not_covered',
        message:
          '`/*` covers what is in the directory, not the directory itself; `/**` covers both',
      }
    return globMatches([...parent, { recursive: true }], path)
      ? { miss: 'too_many_segments', message: '`*` covers one segment only; `**` covers any depth' }
      : null
  }
  return globMatches([...pattern, { recursive: true }], path)
    ? {
        miss: 'contents_not_covered',
        message:
          'the rule covers that path alone; end it in `/**` to cover what is below it as well',
      }
    : null
}

function endsInStar(pattern: readonly GlobSegment[]): boolean {
  const last = pattern.at(-1)
  return last !== undefined && 'pieces' in last && last.pieces.join('*') === '*'
}
