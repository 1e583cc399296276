import type { FastifyRequest } from 'fastify'
import { endsSomething } from '../../http/ends-something.ts'
import { ApiError } from '../../platform/api-error.ts'
import { formatCredential, formatPrincipal, formatUser, type Principal } from '../principal.ts'
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts'

const KIB = 1024
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A person with several credentials has so many times the rate of one. */
const CREDENTIALS_OF_PERSON = 4

export interface WriteRates {
  /** All requests of one credential other than reads and those that end something. */
  readonly perMinute: number
  /**
   * Changes of one credential that need no permission, such as creating a token of their own. Each
   * KiB of text counts for one more, because the history keeps it.
   */
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
  countOwn(caller: Principal, body?: object): void
  /** Counts a write of a machine, whose user is the person. */
  countOwnOf(device: { readonly device_id: string; readonly username: string }, body: object): void
}

export function createWriteLimits(rates: WriteRates, monotonicMs: () => number): WriteLimits {
  const all = createRate({ most: rates.perMinute, windowMs: MINUTE_MS }, monotonicMs)
  const own = createRate({ most: rates.ownPerHour, windowMs: HOUR_MS }, monotonicMs)
  return {
    countRequest({ method, routeOptions, admitted }) {
      if (admitted === null || method === 'GET' || method === 'HEAD') return
      if (endsSomething({ method, config: routeOptions.config })) return
      all(callerOf(admitted.principal))
    },
    countOwn: (caller, body) => own(callerOf(caller), unitsOf(body)),
    countOwnOf: ({ device_id, username }, body) =>
      own({ credential: `device:${device_id}`, person: formatUser(username) }, unitsOf(body)),
  }
}

interface CountedCaller {
  readonly credential: string
  readonly person: string
}

function callerOf(principal: Principal): CountedCaller {
  return { credential: formatCredential(principal), person: formatPrincipal(principal) }
}

function unitsOf(body?: object): number {
  if (body === undefined) return 1
  return 1 + Math.floor(Buffer.byteLength(JSON.stringify(body)) / KIB)
}

function createRate(
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
  monotonicMs: () => number,
): (caller: CountedCaller, units?: number) => void {
  const ofCredential = createRateLimiter({ most, windowMs }, monotonicMs)
  const ofPerson = createRateLimiter({ most: most * CREDENTIALS_OF_PERSON, windowMs }, monotonicMs)
  return ({ credential, person }, units = 1) => {
    const counts: [RateLimiter, string][] = [
      [ofCredential, credential],
      [ofPerson, person],
    ]
    const seconds = Math.max(...counts.map(([count, key]) => count.waitSeconds(key)))
    if (seconds > 0) throw tooManyChanges(seconds)
    for (const [count, key] of counts) count.add(key, units)
  }
}

function tooManyChanges(seconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many changes by one caller; wait and try again', {
    headers: { 'retry-after': String(seconds) },
  })
}
