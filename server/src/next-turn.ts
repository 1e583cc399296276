import { setImmediate } from 'node:timers/promises'

/**
 * Lets everybody else have his turn. For work whose length a request chooses: awaiting SQLite or
 * judging alone never lets the event loop go round, and nobody else would be answered meanwhile.
 */
export async function nextTurn(): Promise<void> {
  await setImmediate()
}
