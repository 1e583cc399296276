import { foldSegment, globMatches, type GlobSegment } from '../path/glob.ts'
import { foldCase, segmentsOf } from '../path/path.ts'
import type { CompiledResource } from './compiled-policy.ts'
import type { Miss } from './miss.ts'

/** Why a path pattern that comes close does not cover the path; null when far off. */
export function missOfPath(
  resource: CompiledResource,
  path: string,
  caseSensitive: boolean,
): Miss | null {
  if (resource.domain !== 'filesystem' || resource.segments === null) return null
  const pattern = resource.segments
  const segments = segmentsOf(caseSensitive ? path : foldCase(path))
  if (caseSensitive && globMatches(pattern.map(foldSegment), segmentsOf(foldCase(path))))
    return { miss: 'letter_case', message: 'paths are compared with their letter case' }
  const parent = pattern.slice(0, -1)
  if (endsInStar(pattern)) {
    if (globMatches(parent, segments))
      return {
        miss: 'directory_not_covered',
        message:
          '`/*` covers what is in the directory, not the directory itself; `/**` covers both',
      }
    return globMatches([...parent, { recursive: true }], segments)
      ? { miss: 'too_many_segments', message: '`*` covers one segment only; `**` covers any depth' }
      : null
  }
  return globMatches([...pattern, { recursive: true }], segments)
    ? {
        miss: 'contents_not_covered',
        message: 'the rule covers that path alone; add `/**` to cover what is below it',
      }
    : null
}

function endsInStar(pattern: readonly GlobSegment[]): boolean {
  const last = pattern.at(-1)
  return last !== undefined && 'pieces' in last && last.pieces.join('*') === '*'
}
