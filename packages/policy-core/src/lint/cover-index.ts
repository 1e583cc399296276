import { createDomainIndex } from '../overlap/domain-index.ts'
import { createRangeIndex } from '../overlap/range-index.ts'
import type { Entry, LintPattern } from './lint-rule.ts'
import { createPathIndex } from './path-index.ts'

/** Index of resources of every kind that finds those that may cover a pattern. */
export interface CoverIndex {
  readonly add: (entry: Entry, pattern: LintPattern) => void
  /** Returns every resource that covers `pattern`, and few others. */
  readonly candidates: (pattern: LintPattern) => Iterable<Entry>
}

export function createCoverIndex(): CoverIndex {
  const domains = createDomainIndex<Entry>()
  const ranges = createRangeIndex<Entry>()
  const paths = createPathIndex()
  return {
    add: (entry, pattern) => {
      if (pattern.kind === 'name') domains.add(entry, pattern.domain, pattern.port)
      else if (pattern.kind === 'range') ranges.add(entry, pattern.range, pattern.port)
      else paths.add(entry, pattern)
    },
    candidates: function* (pattern) {
      if (pattern.kind === 'path') return yield* paths.candidates(pattern)
      const { kind, port } = pattern
      const near = kind === 'name' ? domains.above(pattern.domain) : ranges.around(pattern.range)
      for (const { items } of near) yield* items.covering(port)
    },
  }
}
