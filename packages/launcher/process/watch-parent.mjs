const INTERVAL_MS = 200

/**
 * Calls `onEnd` once when the process that started this one has ended, however.
 *
 * @param {() => void} onEnd
 * @returns {() => void} ends the watch
 */
export function watchParent(onEnd) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onEnd()
  }, INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Calls `onEnd` once when the npm that started this process has ended. npm passes a signal to the
 * shell in which it runs a script. The signal ends a shell that waits for its command, but not the
 * command, which would keep running and keep its ports.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {() => void} onEnd
 * @returns {() => void} ends the watch
 */
export function watchNpm(env, onEnd) {
  return env['npm_lifecycle_event'] === undefined ? () => {} : watchParent(onEnd)
}
