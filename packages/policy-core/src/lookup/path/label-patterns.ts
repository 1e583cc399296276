import { ITEMS_A_STEP, type Steps } from '../../steps.ts'
import type { PathGroup } from './path-group.ts'
import { collectLabels, type PatternLabels, type Place } from './pattern-labels.ts'

/** Patterns as lists of places, all with the same labels. */
export interface LabelledPatterns {
  readonly labels: PatternLabels
  /** By pattern. */
  readonly places: readonly (readonly Place[])[]
  readonly groups: Int32Array
}

export function* labelPatterns(patterns: readonly PathGroup[]): Steps<LabelledPatterns> {
  const collector = collectLabels()
  const places: Place[][] = []
  for (let index = 0; index < patterns.length; index += 1) {
    if (index % ITEMS_A_STEP === 0) yield
    places.push(collector.placesOf(patterns[index]!.segments))
  }
  const groups = Int32Array.from(patterns, ({ group }) => group)
  return { labels: collector.finish(), places, groups }
}
