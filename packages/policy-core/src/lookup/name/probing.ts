/**
 * How far a name may be put from where its hash points. Names made to collide could otherwise turn
 * a search into a scan; where this is not enough, they are looked up in a `Map` instead.
 */
export const MAX_STEPS = 32

/**
 * How many cells in a row may be taken: a search for what is not there walks to the end of them,
 * although every name may be where its hash points. Of names that are no trick, 46 stood in a row
 * at most (measured: up to 65,536 of four kinds).
 */
const MAX_RUN = 128

/** Tells whether a search could be long among cells, which are pairs of hash and position + 1. */
export function hasLongRun(cells: Int32Array): boolean {
  const size = cells.length / 2
  let run = 0
  // Beyond the end, because a search goes on at the beginning.
  for (let step = 0; step < size + MAX_RUN; step += 1) {
    run = cells[2 * (step % size) + 1] === 0 ? 0 : run + 1
    if (run > MAX_RUN) return true
  }
  return false
}
