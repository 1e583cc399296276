import type { CoverIndex } from './cover-index.ts'
import type { LintPattern } from './lint-rule.ts'
import { createNameIndex } from './name-index.ts'
import { createPathIndex } from './path-index.ts'
import { createRangeIndex } from './range-index.ts'

/** An empty index for resources of every kind. */
export function createCoverIndex(): CoverIndex<LintPattern> {
  const names = createNameIndex()
  const ranges = createRangeIndex()
  const paths = createPathIndex()
  return {
    add: (entry, pattern) => {
      if (pattern.kind === 'name') names.add(entry, pattern)
      else if (pattern.kind === 'range') ranges.add(entry, pattern)
      else paths.add(entry, pattern)
    },
    candidates: (pattern) => {
      if (pattern.kind === 'name') return names.candidates(pattern)
      if (pattern.kind === 'range') return ranges.candidates(pattern)
      return paths.candidates(pattern)
    },
  }
}
