/** Below the five seconds by which an agent sees that its clock was set or its machine slept. */
const MOST_MS = 4_000

/**
 * The clock of all agents: after a stall of their one process it catches up within a few turns of
 * the event loop instead of at once. Else all of them would take the stall for a machine that
 * slept, and poll together, where each of as many machines would have had a stall of its own.
 */
export function createPatientClock(wall: () => number, nextTurn: (work: () => void) => void) {
  let lastMs = wall()
  let presentMs: number | null = null
  return (): number => {
    if (presentMs !== null) return presentMs
    presentMs = Math.min(wall(), lastMs + MOST_MS)
    nextTurn(() => {
      lastMs = presentMs ?? lastMs
      presentMs = null
    })
    return presentMs
  }
}
