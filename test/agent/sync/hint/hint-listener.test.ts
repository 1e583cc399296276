import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { HintAnswer } from '../../../../agent/src/sync/hint/ask-for-hint.ts'
import {
  createHintListener,
  type HintListener,
} from '../../../../agent/src/sync/hint/hint-listener.ts'
import { fault } from '../../../../agent/src/sync/fault.ts'
import { NOW_MS } from '../../fixture/bundle.ts'

const MINUTE_MS = 60_000
const QUIET_MS = 50_000

interface Exchange {
  readonly atMs: number
  readonly since: number | null
  readonly assignment: number | null
}

describe('the listener for hints', () => {
  /** Advances only while the listener rests or waits for an answer. */
  let nowMs: number
  let asked: Exchange[]
  let polls: number[]
  let others: number[]
  let answer: (count: number) => HintAnswer
  /** The version of the assignment that this machine has, and after the next poll. */
  let held: number
  let next: number
  let outcome: 'updated' | 'unchanged' | 'failed' | null
  /** How long the server takes to answer. */
  let tookMs: number
  let listener: HintListener

  beforeEach(() => {
    nowMs = 0
    asked = []
    polls = []
    others = []
    outcome = 'updated'
    tookMs = 0
    held = 100
    next = 100
  })

  const hint = (revision: number, spread_seconds = 0): HintAnswer => ({
    kind: 'hint',
    hint: { revision, spread_seconds },
  })

  /** Runs the listener until that time. */
  async function pass(untilMs: number): Promise<void> {
    const over = Promise.withResolvers<void>()
    const spend = async (ms: number, signal: AbortSignal): Promise<void> => {
      if (nowMs + ms > untilMs) {
        over.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return
      }
      nowMs += ms
    }
    listener = createHintListener({
      async ask({ since, assignment }, signal) {
        asked.push({ atMs: nowMs, since, assignment })
        await spend(tookMs, signal)
        return answer(asked.length)
      },
      assignment: () => held,
      holdBack: (ms) => others.push(ms),
      async poll() {
        polls.push(nowMs)
        held = next
        return outcome === null ? null : { outcome }
      },
      rest: spend,
      clock: () => NOW_MS + nowMs,
      uptime: () => nowMs,
      random: () => 0.5,
    })
    onTestFinished(() => listener.stop())
    listener.start()
    await over.promise
  }

  const gaps = (times: readonly number[]): number[] =>
    times.slice(1).map((time, index) => time - (times[index] ?? 0))

  it('polls for the first number and each new one, after a part of the spread', async () => {
    const numbers = [7, 7, 8]
    answer = () => hint(numbers.shift() ?? 8, 4)
    tookMs = QUIET_MS

    await pass(5 * MINUTE_MS)

    // It asks again after all machines have polled, and holds the reporter back for that time.
    expect(polls).toEqual([QUIET_MS + 2_000, 3 * QUIET_MS + 8_000 + 3_000 + 2_000])
    expect(others).toEqual([8_000, 8_000])
    expect(asked.slice(0, 5).map(({ since }) => since)).toEqual([null, 7, 7, 8, 8])
    expect(listener.status()).toEqual({ is_on: true, failing_since: null, last_error: null })
  })

  it('polls at once for a later assignment, though the revision is the same', async () => {
    outcome = 'unchanged'
    next = 101
    answer = (count) =>
      count === 1
        ? hint(7)
        : { kind: 'hint', hint: { revision: 7, spread_seconds: 0, assignment: held + 1 } }
    tookMs = QUIET_MS

    await pass(2 * QUIET_MS + 1_000)

    expect(polls).toEqual([QUIET_MS, 2 * QUIET_MS + 1_000])
    expect(asked.map(({ assignment }) => assignment)).toEqual([100, 101])
  })

  it('polls about twice a minute for a server that lies about a later assignment', async () => {
    outcome = 'unchanged'
    answer = () => ({ kind: 'hint', hint: { revision: 7, spread_seconds: 0, assignment: 999 } })

    await pass(60 * MINUTE_MS)

    expect(polls.length).toBeLessThan(2 * 60 + 15)
  })

  it('asks a server of an earlier version for the revision alone', async () => {
    answer = (count) =>
      count === 2 ? { ...fault('http_status', 'status 400'), status: 400 } : hint(7)
    tookMs = QUIET_MS

    await pass(5 * MINUTE_MS)

    expect(asked.slice(0, 4).map(({ assignment }) => assignment)).toEqual([100, 100, null, null])
  })

  it('keeps asking while there is no change', async () => {
    answer = () => hint(7)
    tookMs = QUIET_MS

    await pass(60 * MINUTE_MS)

    expect(asked).toHaveLength(Math.ceil((60 * MINUTE_MS) / (QUIET_MS + 1_000)))
    expect(polls).toHaveLength(1)
  })

  it('polls at most once a second for endless changes, and later every five seconds', async () => {
    answer = (count) => hint(count)

    await pass(20 * MINUTE_MS)

    expect(Math.min(...gaps(polls))).toBe(1_000)
    expect(
      gaps(polls)
        .slice(0, 60)
        .every((gap) => gap === 1_000),
    ).toBe(true)
    expect(
      gaps(polls)
        .slice(-60)
        .every((gap) => gap === 5_000),
    ).toBe(true)
  })

  it.each<[string, (count: number) => HintAnswer]>([
    ['ever older numbers', (count) => hint(1_000_000 - count)],
    ['ever greater numbers', (count) => hint(2 ** 52 + count)],
    ['two numbers in turns', (count) => hint(count % 2)],
  ])('soon polls twice a minute for a fruitless flood of %s', async (_title, make) => {
    answer = make
    outcome = 'unchanged'

    await pass(20 * MINUTE_MS)

    expect(Math.min(...gaps(polls))).toBeGreaterThanOrEqual(1_000)
    expect(polls.filter((at) => at < MINUTE_MS).length).toBeLessThan(12)
    expect(
      gaps(polls)
        .slice(-20)
        .every((gap) => gap >= 30_000),
    ).toBe(true)
  })

  it('does not poll for a number that it has, however often it comes', async () => {
    answer = () => hint(7)

    await pass(20 * MINUTE_MS)

    expect(polls).toHaveLength(1)
    expect(
      gaps(asked.map(({ atMs }) => atMs))
        .slice(-20)
        .every((gap) => gap >= 30_000),
    ).toBe(true)
  })

  it('asks less and less often without an answer, and reports since when', async () => {
    tookMs = 10
    answer = () => fault('unreachable', 'cannot reach the server')

    await pass(30 * MINUTE_MS)

    const rests = gaps(asked.map(({ atMs }) => atMs)).map((gap) => gap - tookMs)
    expect(rests.slice(0, 3)).toEqual([2_500, 5_000, 10_000])
    expect(rests.at(-1)).toBe(150_000)
    expect(polls).toEqual([])
    expect(listener.status()).toEqual({
      is_on: true,
      failing_since: new Date(NOW_MS + 10).toISOString(),
      last_error: { code: 'unreachable', message: 'cannot reach the server' },
    })
  })

  it('asks often again after an answer', async () => {
    tookMs = QUIET_MS
    answer = (count) => (count % 6 === 0 ? hint(7) : fault('truncated', 'broke off'))

    await pass(20 * MINUTE_MS)

    const rests = gaps(asked.map(({ atMs }) => atMs)).map((gap) => gap - tookMs)
    expect(rests.slice(6, 9)).toEqual([2_500, 5_000, 10_000])
  })

  it('stays away as long as the server asks', async () => {
    const retryAfterMs = 7 * MINUTE_MS
    answer = () => ({ ...fault('http_status', 'the server answered 503'), retryAfterMs })

    await pass(20 * MINUTE_MS)

    expect(asked.map(({ atMs }) => atMs)).toEqual([0, 1, 2].map((n) => n * retryAfterMs))
  })

  it('leaves a server without hints alone for an hour', async () => {
    answer = () => ({ kind: 'absent' })

    await pass(150 * MINUTE_MS)

    expect(asked.map(({ atMs }) => atMs)).toEqual([0, 60 * MINUTE_MS, 120 * MINUTE_MS])
    expect(listener.status().last_error).toEqual({
      code: 'absent',
      message: 'the server does not support hints',
    })
  })

  it.each([['failed' as const], [null]])(
    'retries a hint whose poll failed (%s), less and less often',
    async (given) => {
      outcome = given
      answer = () => hint(7)

      await pass(60 * MINUTE_MS)

      expect(new Set(asked.map(({ since }) => since))).toEqual(new Set([null]))
      expect(gaps(polls).slice(-5)).toEqual(Array.from({ length: 5 }, () => 150_000))
    },
  )

  it('stops at once while it rests or waits', async () => {
    tookMs = QUIET_MS
    answer = () => hint(7, 300)
    await pass(60_000)

    await listener.stop()

    expect([asked.length, polls.length]).toEqual([1, 0])
  })
})
