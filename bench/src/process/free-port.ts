import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ephemeral ports begin at 32768 (Linux) or 49152. */
const LOWEST = 10_000
const HIGHEST = 30_000
const MOST_ATTEMPTS = 100

/**
 * Finds a free loopback port outside the ephemeral range. Between this check and the use of the
 * port, other processes may bind to any port or connect, and would get an ephemeral one.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) return port
  }
  throw new Error('there is no free port')
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer()
  listener.listen(port, '127.0.0.1')
  try {
    await once(listener, 'listening')
  } catch {
    return false
  }
  listener.close()
  await once(listener, 'close')
  return true
}
