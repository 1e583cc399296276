import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Systems hand out ports from 32768 on (Linux) or 49152 on by themselves. */
const LOWEST = 10_000
const HIGHEST = 30_000
const MOST_ATTEMPTS = 100

/**
 * A port of loopback on which nobody listens. It is one that no system gives to who asks for any
 * port or connects somewhere: between this look and the use of it other processes do both.
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
