import { rmSync } from 'node:fs'

/**
 * Removes a directory that a test has left. A process that was killed a moment ago may still write
 * into it, so a directory that is not empty is tried again.
 */
export function removeDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 13, retryDelay: 50 })
}
