const EVERY_MS = 1_000

/**
 * Reports the progress of a command on a terminal: a line a second on standard error, the first
 * after a second. Without a terminal, as in a nightly job, there is no output.
 */
export function createProgress(): (words: () => string) => void {
  let nextMs = performance.now() + EVERY_MS
  return (words) => {
    if (!process.stderr.isTTY || performance.now() < nextMs) return
    nextMs = performance.now() + EVERY_MS
    process.stderr.write(`palisade-server: ${words()}\n`)
  }
}
