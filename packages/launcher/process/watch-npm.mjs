const INTERVAL_MS = 200

/**
 * Calls `gone` once when the npm that started this process has ended. npm passes a signal to the
 * shell in which it runs a script, and a shell that waits for its command dies of it alone: the
 * command would go on without anybody, with its ports.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {() => void} gone
 * @returns {() => void} ends the watch
 */
export function watchNpm(env, gone) {
  if (env['npm_lifecycle_event'] === undefined) return () => {}
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    gone()
  }, INTERVAL_MS)
  return () => clearInterval(timer)
}
