import type { Entry } from './lint-rule.ts'

/** Resources, to be asked for those that may cover a pattern. */
export interface CoverIndex<P> {
  readonly add: (entry: Entry, pattern: P) => void
  /** All that cover `pattern`, and few others. */
  readonly candidates: (pattern: P) => Iterable<Entry>
}
