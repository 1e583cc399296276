import { describe, expect, it } from 'vitest'
import { createFailureThrottle } from '../../../server/src/accounts/failure-throttle.ts'

function openThrottle() {
  let nowMs = 0
  const throttle = createFailureThrottle(() => new Date(nowMs))
  return { throttle, advance: (ms: number) => (nowMs += ms) }
}

describe('the failure throttle', () => {
  it('closes a key at its twentieth failure and opens it a minute after the first', () => {
    const { throttle, advance } = openThrottle()
    for (let failure = 1; failure < 20; failure += 1) throttle.recordFailure('ann')
    expect(throttle.retryAfterSeconds('ann')).toBe(0)

    advance(10_500)
    throttle.recordFailure('ann')

    expect(throttle.retryAfterSeconds('ann')).toBe(50)
    advance(49_499)
    expect(throttle.retryAfterSeconds('ann')).toBe(1)
    advance(1)
    expect(throttle.retryAfterSeconds('ann')).toBe(0)
  })

  it('counts every key by itself', () => {
    const { throttle } = openThrottle()

    for (let failure = 0; failure < 20; failure += 1) throttle.recordFailure('ann')

    expect(throttle.retryAfterSeconds('bob')).toBe(0)
  })

  it('forgets the oldest keys, not the newest, when there are too many', () => {
    const { throttle } = openThrottle()
    for (let failure = 0; failure < 20; failure += 1) throttle.recordFailure('oldest')
    for (let key = 0; key < 99_999; key += 1) throttle.recordFailure(`key ${key}`)
    expect(throttle.retryAfterSeconds('oldest')).toBeGreaterThan(0)

    for (let failure = 0; failure < 20; failure += 1) throttle.recordFailure('newest')

    expect(throttle.retryAfterSeconds('oldest')).toBe(0)
    expect(throttle.retryAfterSeconds('newest')).toBeGreaterThan(0)
  })
})
