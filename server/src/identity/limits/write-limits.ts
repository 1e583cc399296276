import type { FastifyRequest } from 'fastify'
import { endsSomething } from '../../http/ends-something.ts'
import { ApiError } from '../../platform/api-error.ts'
import { formatCredential, formatPrincipal, type Principal } from '../principal.ts'
import { countAttempts, type AttemptCount } from './count-attempts.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A person with several credentials has so many times the rate of one. */
const CREDENTIALS_OF_PERSON = 4

export interface WriteRates {
  /** All requests of one credential other than reads and those that end something. */
  readonly perMinute: number
  /** Changes of one credential that need no permission, such as creating a token of their own. */
  readonly ownPerHour: number
}

/**
 * Rate limits of writes, by the credential at the root of the session; a larger one by person.
 * Otherwise a thief of one token would keep its owner from every change. Requests that end
 * something are not counted: they answer an attack. They are finite, because what they end is
 * counted when it begins. Methods throw 429.
 */
export interface WriteLimits {
  /** Call this before the body is read. */
  countRequest(request: FastifyRequest): void
  countOwn(caller: Principal): void
}

export function createWriteLimits(rates: WriteRates, monotonicMs: () => number): WriteLimits {
  const all = createRate({ most: rates.perMinute, windowMs: MINUTE_MS }, monotonicMs)
  const own = createRate({ most: rates.ownPerHour, windowMs: HOUR_MS }, monotonicMs)
  return {
    countRequest({ method, routeOptions, admitted }) {
      if (admitted === null || method === 'GET' || method === 'HEAD') return
      if (endsSomething({ method, config: routeOptions.config })) return
      all(admitted.principal)
    },
    countOwn: own,
  }
}

function createRate(
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
  monotonicMs: () => number,
): (principal: Principal) => void {
  const ofCredential = countAttempts({ most, windowMs }, monotonicMs)
  const ofPerson = countAttempts({ most: most * CREDENTIALS_OF_PERSON, windowMs }, monotonicMs)
  return (principal) => {
    const counts: [AttemptCount, string][] = [
      [ofCredential, formatCredential(principal)],
      [ofPerson, formatPrincipal(principal)],
    ]
    const seconds = Math.max(...counts.map(([count, key]) => count.waitSeconds(key)))
    if (seconds > 0) throw tooManyChanges(seconds)
    for (const [count, key] of counts) count.add(key)
  }
}

function tooManyChanges(seconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many changes by one caller; wait and try again', {
    headers: { 'retry-after': String(seconds) },
  })
}
