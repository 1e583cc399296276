import { backOffMs } from '../back-off.ts'
import { ClientError } from '../client-error.ts'

/** Time and random numbers, as arguments so that tests are deterministic. */
export interface Pace {
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** 0 ≤ x < 1 */
  readonly random: () => number
}

const MAX_ATTEMPTS = 3
/** A longer `Retry-After` than `capMs` ends the retries, because a person is waiting. */
const PAUSE = { firstMs: 200, capMs: 5_000 } as const
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

/**
 * Runs `attempt` up to three times while it fails temporarily. Pauses grow from 200 ms with full
 * jitter, or follow `Retry-After`. Only for requests that may be sent twice.
 */
export async function withRetries<T>(attempt: () => Promise<T>, pace: Pace): Promise<T> {
  for (let made = 1; ; made += 1) {
    try {
      return await attempt()
    } catch (error) {
      const pauseMs = made < MAX_ATTEMPTS ? pauseAfter(error, made, pace) : null
      if (pauseMs === null) throw error
      await pace.sleep(pauseMs)
    }
  }
}

function pauseAfter(error: unknown, made: number, pace: Pace): number | null {
  if (!(error instanceof ClientError) || !mayPass(error)) return null
  const asked = error.api?.retryAfterMs ?? null
  if (asked !== null) return asked <= PAUSE.capMs ? asked : null
  return backOffMs(made - 1, { ...PAUSE, random: pace.random })
}

function mayPass(error: ClientError): boolean {
  // A timeout is not repeated, because the caller has waited long enough already.
  if (error.code === 'ERR_SERVER_UNREACHABLE') return true
  return error.api !== undefined && RETRIED_STATUSES.has(error.api.status)
}
