import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../platform/api-error.ts'
import { formatPrincipal, type Principal } from '../principal.ts'
import { countAttempts, type AttemptCount } from './count-attempts.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export interface WriteRates {
  /** All requests of one caller other than GET and HEAD. */
  readonly perMinute: number
  /** Changes of one caller that need no permission, such as creating a token of their own. */
  readonly ownPerHour: number
}

/** Rate limits of the writes of one caller. Methods throw 429. */
export interface WriteLimits {
  /** Call this before the body is read. */
  countRequest(request: FastifyRequest): void
  countOwn(caller: Principal): void
}

export function createWriteLimits(rates: WriteRates, monotonicMs: () => number): WriteLimits {
  const all = countAttempts({ most: rates.perMinute, windowMs: MINUTE_MS }, monotonicMs)
  const own = countAttempts({ most: rates.ownPerHour, windowMs: HOUR_MS }, monotonicMs)
  return {
    countRequest({ method, admitted }) {
      if (admitted === null || method === 'GET' || method === 'HEAD') return
      count(all, formatPrincipal(admitted.principal))
    },
    countOwn: (caller) => count(own, formatPrincipal(caller)),
  }
}

function count(attempts: AttemptCount, key: string): void {
  const seconds = attempts.waitSeconds(key)
  if (seconds > 0)
    throw new ApiError(
      429,
      'limit_exceeded',
      'too many changes by one caller; wait and try again',
      {
        headers: { 'retry-after': String(seconds) },
      },
    )
  attempts.add(key)
}
