import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  firstResult,
  hasBothFamilies,
  interleaveFamilies,
} from '../../../../agent/src/proxy/target/staggered-attempts.ts'

/** Attempts that the test settles, with their start times in milliseconds. */
function attemptsOf(count: number) {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const started: [number, number][] = []
  const settle: ((result: string | null) => void)[] = []
  const begun = Date.now()
  const attempts = Array.from({ length: count }, (_, index) => () => {
    started.push([index, Date.now() - begun])
    return new Promise<string | null>((resolve) => (settle[index] = resolve))
  })
  return { attempts, started, settle }
}

describe('staggered attempts', () => {
  it('begin 250 ms apart until one succeeds', async () => {
    const { attempts, started, settle } = attemptsOf(4)
    const result = firstResult(attempts, true)
    await vi.advanceTimersByTimeAsync(600)

    settle[1]?.('second')

    expect(await result).toBe('second')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(started).toEqual([
      [0, 0],
      [1, 250],
      [2, 500],
    ])
  })

  it('begin at once when one fails', async () => {
    const { attempts, started, settle } = attemptsOf(3)
    const result = firstResult(attempts, true)
    await vi.advanceTimersByTimeAsync(100)

    settle[0]?.(null)
    await vi.advanceTimersByTimeAsync(200)
    settle[1]?.(null)
    await vi.advanceTimersByTimeAsync(0)
    settle[2]?.(null)

    expect(await result).toBe(null)
    expect(started).toEqual([
      [0, 0],
      [1, 100],
      [2, 300],
    ])
  })

  it('wait for attempts that still run when the last one has failed', async () => {
    const { attempts, settle } = attemptsOf(2)
    const result = firstResult(attempts, true)
    await vi.advanceTimersByTimeAsync(250)

    settle[1]?.(null)
    await vi.advanceTimersByTimeAsync(5_000)
    settle[0]?.('first')

    expect(await result).toBe('first')
  })
})

describe('attempts in order', () => {
  it('begin only when the one before has failed', async () => {
    const { attempts, started, settle } = attemptsOf(2)
    const result = firstResult(attempts, false)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(started).toEqual([[0, 0]])

    settle[0]?.(null)
    await vi.advanceTimersByTimeAsync(0)
    settle[1]?.('second')

    expect(await result).toBe('second')
  })

  it('report an error, and begin no more', async () => {
    const begun: string[] = []

    const result = firstResult<string>(
      [
        () => Promise.reject(new Error('a bug')),
        async () => {
          begun.push('second')
          return null
        },
      ],
      false,
    )

    await expect(result).rejects.toThrow('a bug')
    expect(begun).toEqual([])
  })
})

describe('the order of addresses', () => {
  const of = (...texts: string[]) => texts.map((address) => ({ address }))

  it.each([
    [
      ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2'],
      '2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2',
    ],
    [['192.0.2.1', '192.0.2.2', '2001:db8::1'], '2001:db8::1 192.0.2.1 192.0.2.2'],
    [['192.0.2.1', '192.0.2.2'], '192.0.2.1 192.0.2.2'],
  ])('alternates between the families: %j', (found, expected) => {
    expect(
      interleaveFamilies(of(...found))
        .map(({ address }) => address)
        .join(' '),
    ).toBe(expected)
  })

  it('knows whether both families occur', () => {
    expect(hasBothFamilies(of('192.0.2.1', '::1'))).toBe(true)
    expect(hasBothFamilies(of('192.0.2.1', '192.0.2.2'))).toBe(false)
    expect(hasBothFamilies(of('::1', '::2'))).toBe(false)
  })
})
