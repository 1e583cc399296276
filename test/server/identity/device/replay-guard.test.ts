import { describe, expect, it } from 'vitest'
import { createReplayGuard } from '../../../../server/src/identity/device/replay-guard.ts'

const MINUTE_MS = 60_000

describe('the replay guard', () => {
  let nowMs = 0
  const open = (limits?: { proofs: number; ofKey: number }) => {
    nowMs = Date.parse('2026-11-21T08:00:00Z')
    return createReplayGuard(() => new Date(nowMs), limits)
  }

  it('admits each proof of each key once', () => {
    const guard = open()

    const admitted = ['a', 'b', 'a'].map((jti) => guard.admit('key', jti))

    expect(admitted).toEqual(['fresh', 'fresh', 'replayed'])
    expect(guard.admit('other', 'a')).toBe('fresh')
    // The boundary between key and id is unambiguous.
    expect(guard.admit('ke', 'ya')).toBe('fresh')
  })

  it('remembers a proof for as long as it is valid', () => {
    // A proof dated five minutes ahead of the server's clock is valid for ten minutes.
    for (let minute = 0; minute < 25; minute += 1) {
      const guard = open()
      guard.admit('key', 'first')
      nowMs += minute * MINUTE_MS
      guard.admit('key', 'late')
      for (let after = 0; after < 10; after += 1) {
        nowMs += MINUTE_MS - 1
        expect(guard.admit('key', 'late'), `${minute} ${after}`).toBe('replayed')
      }
    }
  })

  it('refuses new proofs when it is full, and has room again later', () => {
    const guard = open({ proofs: 3, ofKey: 2 })
    expect(guard.admit('a', '1')).toBe('fresh')
    expect(guard.admit('a', '2')).toBe('fresh')

    expect(guard.admit('a', '3')).toBe('used_up')
    expect(guard.admit('b', '1')).toBe('fresh')
    expect(guard.admit('c', '1')).toBe('full')
    expect(guard.admit('a', '1')).toBe('replayed')

    nowMs += 20 * MINUTE_MS
    expect(guard.admit('c', '1')).toBe('fresh')
    expect(guard.admit('a', '3')).toBe('fresh')
  })

  it('has room for six proofs of each of 100,000 machines', () => {
    const guard = open()
    const admitted = new Set<string>()

    // A third of the 600,000 proofs is enough to show that, and faster.
    for (let machine = 0; machine < 100_000; machine += 1)
      for (let n = 0; n < 4; n += 1) admitted.add(guard.admit(`key ${machine}`, `${n}`))

    expect([...admitted]).toEqual(['fresh'])
    expect(guard.admit('key 99999', '3')).toBe('replayed')
    expect(guard.admit('key 0', '0')).toBe('replayed')
  })

  it('forgets all proofs after a pause and then works again', () => {
    const guard = open({ proofs: 1, ofKey: 1 })
    guard.admit('a', '1')

    nowMs += 60 * MINUTE_MS

    expect([guard.admit('a', '2'), guard.admit('a', '2')]).toEqual(['fresh', 'replayed'])
  })
})
