import { setTimeout as pause } from 'node:timers/promises'

const MOST_ATTEMPTS = 40
const RETRY_AFTER_MS = 250

/**
 * Retries, as a client does after 503, until the answer is not null. Throws when it is still null
 * after ten seconds.
 */
export async function untilAnswered<T>(ask: () => Promise<T | null>): Promise<T> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const answer = await ask()
    if (answer !== null) return answer
    await pause(RETRY_AFTER_MS)
  }
  throw new Error('the server that came back does not answer')
}
