import { visitsOfCut, visitsOfScan } from './occurrences.ts'
import { addShare, alikeTo, namesOf, type PathLoadDraft } from './path-load.ts'
import { MAX_PATH_LENGTH } from './plain-path.ts'

/**
 * Steps of one look-up in a `Map` with the branch that it reaches, or of one glob found and stored.
 */
const STEPS_OF_VISIT = 7
const STEPS_OF_FOUND = 12
/** Number of leading pieces that globs may share. Further pieces count for each glob. */
const MAX_SHARED_PIECES = 4

/**
 * Adds the steps of `GlobFinder` for a glob in all names of a path; returns those of the glob
 * alone.
 */
export function addGlob(load: PathLoadDraft, glob: string): number {
  const pieces = glob.split('*')
  const first = pieces[0]!
  const last = pieces.at(-1)!
  const starts = namesOf(first.length) * visitsOfCut(first.length)
  const visits = (key: string, weight: number, limit: number): number =>
    addShare(load, key, { weight, limit, steps: STEPS_OF_VISIT })
  let steps = visits(`s${first.length}`, starts, starts)
  let characters = first.length
  let end = first.length
  for (let index = 1; index < pieces.length - 1; index += 1) {
    const { length } = pieces[index]!
    characters += length
    end += length + 1
    steps += addOccurrences(load, length)
    const weight = namesOf(characters)
    if (index <= MAX_SHARED_PIECES) {
      const { key, limit } = alikeTo(`${glob.slice(0, end)}*`)
      steps += visits(`l${key}`, weight, limit)
    } else {
      load.plain += weight * STEPS_OF_VISIT
      steps += weight * STEPS_OF_VISIT
    }
  }
  const { key, limit } = alikeTo(glob)
  const weight = namesOf(characters + last.length)
  const cut = visitsOfCut(last.length)
  if (last !== '') steps += visits(`e${key}`, weight * cut, limit * cut)
  return steps + addShare(load, `f${key}`, { weight, limit, steps: STEPS_OF_FOUND })
}

/** Pieces of one length are located once in each name. */
function addOccurrences(load: PathLoadDraft, length: number): number {
  return addShare(load, `o${length}`, {
    weight: namesOf(length) + visitsOfScan(length, MAX_PATH_LENGTH) + MAX_PATH_LENGTH / 2,
    limit: MAX_PATH_LENGTH * (visitsOfCut(length) + 1 / 2),
    steps: STEPS_OF_VISIT,
  })
}
