import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from '../prepare/launch-error.mjs'

const POLL_MS = 50

/**
 * Asks `condition` until it holds. Rejects when the service ends first, with its own complaint and
 * exit code, or when the time is over.
 *
 * @param {() => Promise<boolean>} condition
 * @param {import('./service.mjs').Service} service
 * @param {number} timeoutMs
 * @param {() => string} [lastSeen] what to add when the time is over
 */
export async function waitUntil(condition, service, timeoutMs, lastSeen) {
  const deadline = Date.now() + timeoutMs
  while (!(await condition())) {
    if (!service.running()) {
      const code = await service.exited
      const said =
        service.complaint() || `the ${service.name} ended with ${code}; see ${service.logFile}`
      throw new LaunchError(said, code === 0 ? 1 : code)
    }
    if (Date.now() > deadline) {
      const detail = lastSeen?.() ?? ''
      throw new LaunchError(
        `the ${service.name} was not ready after ${timeoutMs / 1000} s${detail}; see ${service.logFile}`,
      )
    }
    await sleep(POLL_MS)
  }
}
