import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from '../prepare/launch-error.mjs'

const POLL_MS = 50

/**
 * Polls `condition` until it is true. Rejects if the service ends first, with its standard error
 * and exit code, or after the timeout.
 *
 * @param {() => Promise<boolean>} condition
 * @param {import('./service.mjs').Service} service
 * @param {number} timeoutMs
 * @param {() => string} [lastSeen] detail for the message of the timeout
 */
export async function waitUntil(condition, service, timeoutMs, lastSeen) {
  const deadline = Date.now() + timeoutMs
  while (!(await condition())) {
    if (!service.running()) {
      const code = await service.exited
      const message =
        service.complaint() || `the ${service.name} ended with ${code}; see ${service.logFile}`
      throw new LaunchError(message, code === 0 ? 1 : code)
    }
    if (Date.now() > deadline) {
      const detail = lastSeen?.() ?? ''
      throw new LaunchError(
        `the ${service.name} was not ready after ${timeoutMs / 1000} s${detail}; ` +
          `see ${service.logFile}`,
      )
    }
    await sleep(POLL_MS)
  }
}
