const INTERVAL_MS = 200

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
  if (env['npm_lifecycle_event'] === undefined) return () => {}
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onEnd()
  }, INTERVAL_MS)
  return () => clearInterval(timer)
}
