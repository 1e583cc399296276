/**
 * Less than the five seconds after which an agent assumes a clock change or a suspended machine.
 */
const MAX_STEP_MS = 4_000

/**
 * Creates the clock of all agents. After a stall of their shared process it catches up over several
 * turns of the event loop. Without this, all agents would take the stall for a suspended machine
 * and poll at once; separate machines would not stall together.
 */
export function createCatchUpClock(wall: () => number, nextTurn: (work: () => void) => void) {
  let lastMs = wall()
  let presentMs: number | null = null
  return (): number => {
    if (presentMs !== null) return presentMs
    presentMs = Math.min(wall(), lastMs + MAX_STEP_MS)
    nextTurn(() => {
      lastMs = presentMs ?? lastMs
      presentMs = null
    })
    return presentMs
  }
}
