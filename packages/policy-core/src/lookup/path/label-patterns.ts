import type { PathGroup } from './path-group.ts'
import { collectLabels, type PatternLabels, type Place } from './pattern-labels.ts'

/** Patterns as lists of places, all with the same labels. */
export interface LabelledPatterns {
  readonly labels: PatternLabels
  /** By pattern. */
  readonly places: readonly (readonly Place[])[]
  readonly groups: Int32Array
}

export function labelPatterns(patterns: readonly PathGroup[]): LabelledPatterns {
  const collector = collectLabels()
  const places = patterns.map(({ segments }) => collector.placesOf(segments))
  const groups = Int32Array.from(patterns, ({ group }) => group)
  return { labels: collector.finish(), places, groups }
}
