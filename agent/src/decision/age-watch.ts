import type { ActivePolicy } from './active-policy.ts'

/** A timer does not see that the clock was set, nor that the machine slept: it must look again. */
const MAX_DELAY_MS = 30_000

export interface AgeWatchDeps {
  /** What is left of a grant in force; null for none. */
  readonly grantRestMs: () => number | null
  readonly onLook: () => void
  /** Of a look that failed; the next one comes all the same. */
  readonly onError: (error: unknown) => void
}

export interface AgeWatch {
  stop(): void
}

/**
 * Has the age of the bundle looked at when it becomes stale, when it expires and when a grant ends,
 * so that nothing that is open outlives it although nobody asks. `onLook` is called each time,
 * which is often.
 */
export function watchAge(
  active: ActivePolicy,
  now: () => number,
  { grantRestMs, onLook, onError }: AgeWatchDeps,
): AgeWatch {
  let timer: NodeJS.Timeout | undefined

  const arm = (): void => {
    clearTimeout(timer)
    const inForce = active.current()
    if (inForce === null) return
    const { stale_at, expires_at } = inForce.bundle
    const rests = [stale_at, expires_at].map((at) => Date.parse(at) - now())
    rests.push(grantRestMs() ?? 0)
    const restMs = Math.min(...rests.filter((rest) => rest > 0), MAX_DELAY_MS)
    timer = setTimeout(look, Math.max(restMs, 1)).unref()
  }
  const look = (): void => {
    try {
      active.state()
      onLook()
    } catch (error) {
      onError(error)
    }
    arm()
  }

  active.subscribe(arm)
  arm()
  return { stop: () => clearTimeout(timer) }
}
