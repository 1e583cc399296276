/** So much of the time that has really passed is lost when the machine loses its power. */
const EVERY_MS = 10 * 60_000

/**
 * To be called often: keeps what is known about the time every ten minutes. What cannot be written
 * is told, and tried again after the next ten.
 */
export function createTimeKeeper(deps: {
  readonly keep: () => Promise<void>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly onError: (error: unknown) => void
}): () => void {
  let triedAtMs = deps.uptime()
  return () => {
    const nowMs = deps.uptime()
    if (nowMs - triedAtMs < EVERY_MS) return
    triedAtMs = nowMs
    deps.keep().catch(deps.onError)
  }
}
