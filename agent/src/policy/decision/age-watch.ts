import type { ActivePolicy } from './active-policy.ts'

/** A timer does not notice a clock change or a suspended machine, so it must check again. */
const MAX_DELAY_MS = 30_000

export interface AgeWatchDeps {
  /** Remaining milliseconds of the grant in force, or null. */
  readonly grantRemainingMs: () => number | null
  readonly onCheck: () => void
  /** Called after a failed check; checks continue. */
  readonly onError: (error: unknown) => void
}

export interface AgeWatch {
  stop(): void
}

/**
 * Checks the bundle when it becomes stale, when it or one of its rules expires, and when a grant
 * ends, so that open connections are closed on time without a request. Calls `onCheck` at each
 * check, which is often.
 */
export function watchAge(
  active: ActivePolicy,
  now: () => number,
  { grantRemainingMs, onCheck, onError }: AgeWatchDeps,
): AgeWatch {
  let timer: NodeJS.Timeout | undefined

  const arm = (): void => {
    clearTimeout(timer)
    const inForce = active.current()
    if (inForce === null) return
    const { stale_at, expires_at } = inForce.bundle
    const remaining = [stale_at, expires_at].map((at) => Date.parse(at) - now())
    remaining.push(grantRemainingMs() ?? 0)
    const ruleExpiresMs = active.nextExpiryMs()
    if (ruleExpiresMs !== null) remaining.push(ruleExpiresMs - now())
    const delayMs = Math.min(...remaining.filter((remainingMs) => remainingMs > 0), MAX_DELAY_MS)
    timer = setTimeout(check, Math.max(delayMs, 1)).unref()
  }
  const check = (): void => {
    try {
      active.state()
      onCheck()
    } catch (error) {
      onError(error)
    }
    arm()
  }

  active.subscribe(arm)
  arm()
  return { stop: () => clearTimeout(timer) }
}
