import { isIPv6 } from 'node:net'

/** Delay before the next attempt while the last one still runs (RFC 8305 §5). */
const ATTEMPT_DELAY_MS = 250

/**
 * Starts attempts in order and resolves with the first result that is not null, or with null when
 * all are. The next attempt starts when one fails. With `isStaggered` it also starts when the last
 * one takes longer than 250 ms, so several may run at once: an attempt that succeeds must end the
 * others. Rejects like the first attempt that rejects.
 */
export function firstResult<T>(
  attempts: readonly (() => Promise<T | null>)[],
  isStaggered: boolean,
): Promise<T | null> {
  const { promise, resolve, reject } = Promise.withResolvers<T | null>()
  let next = 0
  let running = 0
  let timer: NodeJS.Timeout | undefined
  const settle = (end: () => void): void => {
    clearTimeout(timer)
    next = attempts.length
    end()
  }
  const startNext = (): void => {
    clearTimeout(timer)
    const attempt = attempts[next]
    if (attempt === undefined) {
      if (running === 0) resolve(null)
      return
    }
    next += 1
    running += 1
    if (isStaggered && next < attempts.length) timer = setTimeout(startNext, ATTEMPT_DELAY_MS)
    void run(attempt)
  }
  const run = async (attempt: () => Promise<T | null>): Promise<void> => {
    try {
      const result = await attempt()
      running -= 1
      if (result === null) startNext()
      else settle(() => resolve(result))
    } catch (error) {
      settle(() => reject(error))
    }
  }
  startNext()
  return promise
}

/**
 * Alternates between the families, IPv6 first, each in its own order (RFC 8305 §4): where one
 * family leads nowhere, the second attempt already uses the other.
 */
export function interleaveFamilies<T extends { readonly address: string }>(
  addresses: readonly T[],
): readonly T[] {
  const six = addresses.filter(({ address }) => isIPv6(address))
  const four = addresses.filter(({ address }) => !isIPv6(address))
  const length = Math.max(six.length, four.length)
  return Array.from({ length }, (_, at) => [six[at], four[at]])
    .flat()
    .filter((each) => each !== undefined)
}

export function hasBothFamilies(addresses: readonly { readonly address: string }[]): boolean {
  return new Set(addresses.map(({ address }) => isIPv6(address))).size > 1
}
