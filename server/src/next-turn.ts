import { setImmediate } from 'node:timers/promises'

/** libuv accepts one connection in each round, and many requests need two or three. */
const ROUNDS = 8

/**
 * Lets all others have a turn. For work whose length a request chooses: awaiting SQLite or evaluating
 * alone never lets the event loop go round, and no other request would be answered meanwhile.
 */
export async function nextTurn(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await setImmediate()
}
