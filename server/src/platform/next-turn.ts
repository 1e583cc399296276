import { setImmediate } from 'node:timers/promises'

/** libuv accepts one connection in each round, and many requests need two or three. */
const ROUNDS = 8

/**
 * Lets all others have a turn. For work whose length a request chooses: awaiting SQLite or
 * evaluating alone never lets the event loop go round, and no other request would be answered
 * meanwhile.
 */
export async function nextTurn(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await setImmediate()
}

/** A turn goes on until it has lasted so long: going round takes a twentieth of it. */
export const LEAST_TURN_MS = 2

/**
 * Lets others have a turn between pieces of work of any length: at once in a turn that has just
 * begun.
 */
export function createTurnEnds(): () => Promise<void> {
  let dueMs = performance.now() + LEAST_TURN_MS
  return async () => {
    if (performance.now() < dueMs) return
    await nextTurn()
    dueMs = performance.now() + LEAST_TURN_MS
  }
}
