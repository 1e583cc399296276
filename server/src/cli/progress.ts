const EVERY_MS = 1_000

/**
 * Tells somebody who watches how far a command is: a line a second on standard error, the first
 * after a second. Nothing is told where nobody watches, as in the mail of a nightly job.
 */
export function createProgress(): (words: () => string) => void {
  let nextMs = performance.now() + EVERY_MS
  return (words) => {
    if (!process.stderr.isTTY || performance.now() < nextMs) return
    nextMs = performance.now() + EVERY_MS
    process.stderr.write(`palisade-server: ${words()}\n`)
  }
}
