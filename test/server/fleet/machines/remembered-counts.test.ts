import { describe, expect, it } from 'vitest'
import { createRememberedCounts } from '../../../../server/src/fleet/machines/remembered-counts.ts'

/** Numbered counts that take `tookMs` each. */
function open(tookMs: number) {
  let nowMs = 0
  let spentMs = 0
  let made = 0
  const counts = createRememberedCounts<number>({
    monotonicMs: () => nowMs,
    spentMs: () => spentMs,
  })
  const take = (key = 'a') =>
    counts.take(key, async () => {
      spentMs += tookMs
      return (made += 1)
    })
  return { counts, take, advance: (ms: number) => void (nowMs += ms) }
}

describe('counts of large fleets', () => {
  it('are cached for ten times their duration', async () => {
    const { counts, take, advance } = open(200)
    expect(counts.find('a')).toBeNull()

    expect([await take(), await take(), counts.find('a')]).toEqual([1, 1, 1])
    advance(1_999)
    expect(await take()).toBe(1)
    advance(1)
    expect(counts.find('a')).toBeNull()
    expect(await take()).toBe(2)
  })

  it('are cached for at most ten seconds', async () => {
    const { take, advance } = open(5_000)
    await take()

    advance(9_999)
    expect(await take()).toBe(1)
    advance(1)
    expect(await take()).toBe(2)
  })

  it('are not cached if they take no time', async () => {
    const { take } = open(99)

    expect([await take(), await take()]).toEqual([1, 2])
  })

  it('are cached by question', async () => {
    const { take } = open(200)

    expect([await take('a'), await take('b'), await take('a')]).toEqual([1, 2, 1])
  })

  it('are not cached when counting fails', async () => {
    const { counts, take } = open(200)
    const failed = counts.take('a', () => Promise.reject(new Error('away')))

    await expect(failed).rejects.toThrow('away')
    expect(await take()).toBe(1)
  })
})
