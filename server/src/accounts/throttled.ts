import { createHash } from 'node:crypto'
import { clientNetwork } from './client-network.ts'
import type { FailureThrottle } from './failure-throttle.ts'
import { tooManyRequests } from './password-queue.ts'

/** Failures to prove who one is, by account and by the network that they come from. */
export interface Throttles {
  readonly account: FailureThrottle
  readonly address: FailureThrottle
}

export interface Attempt {
  /** What somebody claims to be; hostile text of any length. */
  readonly name: string
  /** Address of the client. */
  readonly address: string
}

/**
 * Runs `prove` unless account or network have failed too often within the minute; then it throws
 * 429. Null, a failure, counts.
 */
export async function throttled<T>(
  { account, address }: Throttles,
  attempt: Attempt,
  prove: () => Promise<T | null>,
): Promise<T | null> {
  const accountKey = createHash('sha256').update(attempt.name).digest('base64')
  const addressKey = clientNetwork(attempt.address)
  const wait = Math.max(
    account.retryAfterSeconds(accountKey),
    address.retryAfterSeconds(addressKey),
  )
  if (wait > 0) throw tooManyRequests(wait)
  const proof = await prove()
  if (proof !== null) return proof
  account.recordFailure(accountKey)
  address.recordFailure(addressKey)
  return null
}
