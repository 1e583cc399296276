import { describe, expect, it } from 'vitest'
import { createRateLimiter } from '../../../../server/src/identity/limits/rate-limiter.ts'

function openCount() {
  let nowMs = 1_000
  const failures = createRateLimiter({ most: 20, windowMs: 60_000 }, () => nowMs)
  const fail = (key: string, times: number) => {
    for (let failure = 0; failure < times; failure += 1) failures.add(key)
  }
  return { failures, fail, advance: (ms: number) => (nowMs += ms) }
}

describe('the count of attempts', () => {
  it('closes a key at its twentieth failure and opens it a minute after the first', () => {
    const { failures, fail, advance } = openCount()
    fail('ann', 19)
    expect(failures.waitSeconds('ann')).toBe(0)

    advance(10_500)
    failures.add('ann')

    expect(failures.waitSeconds('ann')).toBe(50)
    advance(49_498)
    expect(failures.waitSeconds('ann')).toBe(1)
    advance(2)
    expect(failures.waitSeconds('ann')).toBe(0)
  })

  it('counts every key by itself', () => {
    const { failures, fail } = openCount()

    fail('ann', 20)

    expect(failures.waitSeconds('bob')).toBe(0)
  })

  it('forgets the oldest keys, not the newest, when there are too many', () => {
    const { failures, fail } = openCount()
    fail('oldest', 20)
    for (let key = 0; key < 99_999; key += 1) failures.add(`key ${key}`)

    fail('newest', 20)

    expect(failures.waitSeconds('oldest')).toBe(0)
    expect(failures.waitSeconds('newest')).toBeGreaterThan(0)
  })
})
