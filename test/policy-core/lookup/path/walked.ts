import { createGlobFinder } from '../../../../packages/policy-core/src/lookup/path/glob-finder.ts'
import {
  labelPatterns,
  type PathGroup,
} from '../../../../packages/policy-core/src/lookup/path/pattern-labels.ts'
import { PathWalk } from '../../../../packages/policy-core/src/lookup/path/path-walk.ts'
import { buildWalkParts } from '../../../../packages/policy-core/src/lookup/path/walk-parts.ts'
import { runSteps } from '../../../../packages/policy-core/src/steps.ts'

/** The result and the cost of one walk. */
export interface Walked {
  readonly groups: readonly number[]
  /** Steps of the walk, without the search for globs. */
  readonly steps: number
  /** Searched pieces of globs, and globs found, over all names. */
  readonly visits: number
  readonly found: number
}

/** Walks paths as the index does without cached states, and counts the steps. */
export function createWalker(patterns: readonly PathGroup[]): {
  readonly walk: (path: string) => Walked
} {
  const labelled = runSteps(labelPatterns(patterns))
  const parts = runSteps(buildWalkParts(labelled))
  const { labels } = labelled
  const finder = createGlobFinder(labels.globs)
  const walk = new PathWalk(parts)
  return {
    walk(path) {
      const [steps, visits] = [walk.steps, finder.visits()]
      const names = path.slice(1).split('/')
      const read = names.map((name) => {
        const globs: number[] = []
        finder.find(name, globs)
        return { literal: labels.literals.get(name) ?? -1, globs: globs.toSorted((a, b) => a - b) }
      })
      const groups = walk.find(read).toSorted((a, b) => a - b)
      const found = read.reduce((all, { globs }) => all + globs.length, 0)
      return { groups, steps: walk.steps - steps, visits: finder.visits() - visits, found }
    },
  }
}
