import type { ActivePolicy } from './active-policy.ts'

/** A timer does not see that the clock was set, nor that the machine slept: it must look again. */
const MAX_DELAY_MS = 30_000

export interface ExpiryWatch {
  stop(): void
}

/** Calls `onExpired` when the bundle in force passes its `expires_at`, so that nothing outlives it. */
export function watchExpiry(
  active: ActivePolicy,
  clock: () => number,
  onExpired: () => void,
): ExpiryWatch {
  let timer: NodeJS.Timeout | undefined

  const arm = (): void => {
    clearTimeout(timer)
    const inForce = active.current()
    if (inForce.kind !== 'bundle') return
    const restMs = Date.parse(inForce.bundle.expires_at) - clock()
    timer = setTimeout(wake, Math.min(Math.max(restMs, 1), MAX_DELAY_MS)).unref()
  }
  const wake = (): void => {
    if (active.state() === 'expired') onExpired()
    else arm()
  }

  active.subscribe(arm)
  arm()
  return { stop: () => clearTimeout(timer) }
}
