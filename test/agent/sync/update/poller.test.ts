import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createPoller, type Poller } from '../../../../agent/src/sync/update/poller.ts'
import type { SyncOutcome } from '../../../../agent/src/sync/update/synchronizer.ts'
import { createSchedule, createTimetable } from '../../../../agent/src/sync/update/timetable.ts'
import { NOW_MS } from '../../fixture/bundle.ts'

interface Scene {
  readonly poller: Poller
  /** Ends the attempts, in the order of their beginning. */
  readonly attempts: ((outcome?: Partial<SyncOutcome>) => void)[]
  readonly tick: () => void
  nowMs: number
}

function setUp(): Scene {
  const attempts: Scene['attempts'] = []
  let onTick = (): void => {}
  const scene: Scene = {
    attempts,
    nowMs: NOW_MS,
    tick: () => onTick(),
    poller: createPoller({
      run: (signal) =>
        new Promise((resolve) => {
          const end = (outcome: Partial<SyncOutcome> = {}): void =>
            resolve({
              outcome: 'unchanged',
              revision: 1,
              error: null,
              retryAfterMs: null,
              ...outcome,
            })
          attempts.push(end)
          signal.addEventListener('abort', () => end({ outcome: 'failed' }))
        }),
      timetable: {
        start: (tick) => {
          onTick = tick
        },
        stop: () => {},
        nextAt: () => NOW_MS + 1000,
      },
      clock: () => scene.nowMs,
      onError: () => {},
    }),
  }
  return scene
}

describe('an exception of a poll', () => {
  it('becomes its outcome, and ends neither the process nor the polls', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', onUnhandled)
    onTestFinished(() => void process.off('unhandledRejection', onUnhandled))
    let [polls, onTick] = [0, (): void => {}]
    const told: unknown[] = []
    const bug = new RangeError('Invalid time value')
    const poller = createPoller({
      async run() {
        polls += 1
        throw bug
      },
      timetable: { start: (tick) => (onTick = tick), stop: () => {}, nextAt: () => null },
      clock: () => NOW_MS,
      onError: (error) => told.push(error),
    })

    poller.start()
    await sleep(1)
    onTick()
    await sleep(1)
    const outcome = await poller.demand()

    expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'internal' } })
    expect([polls, told, unhandled]).toEqual([3, [bug, bug, bug], []])
  })

  it('of another task does not stop the next poll', async () => {
    const { poller, attempts } = setUp()
    const failed = poller.inTurn(async () => {
      throw new Error('broken')
    })
    const outcome = poller.demand()

    await expect(failed).rejects.toThrow('broken')
    await sleep(1)
    attempts[0]?.()

    expect(await outcome).toMatchObject({ outcome: 'unchanged' })
  })
})

describe('the poller', () => {
  it('fetches once at start and on every tick, never twice at the same time', async () => {
    const { poller, attempts, tick } = setUp()

    poller.start()
    tick()
    expect(attempts).toHaveLength(1)

    attempts[0]?.()
    await sleep(1)
    tick()
    expect(attempts).toHaveLength(2)
  })

  it('fetches once for a hint, a person and the timetable, after a running fetch', async () => {
    const { poller, attempts, tick } = setUp()
    poller.start()

    const answers = [poller.hinted(), poller.demand(), poller.hinted()]
    tick()
    expect(attempts).toHaveLength(1)
    attempts[0]?.()
    await sleep(1)
    expect(attempts).toHaveLength(2)
    attempts[1]?.({ outcome: 'updated', revision: 2 })

    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ outcome: 'updated', revision: 2 })
    expect(attempts).toHaveLength(2)
  })

  it('fetches for a person, but not for a hint, while the server asks it to wait', async () => {
    const scene = setUp()
    const { poller, attempts } = scene
    poller.start()
    attempts[0]?.({ outcome: 'failed', retryAfterMs: 60_000 })
    await sleep(1)

    expect(await poller.hinted()).toBeNull()
    expect(attempts).toHaveLength(1)
    void poller.demand()
    expect(attempts).toHaveLength(2)
    attempts[1]?.({ outcome: 'failed', retryAfterMs: 60_000 })
    await sleep(1)

    scene.nowMs += 60_000
    void poller.hinted()
    await sleep(1)
    expect(attempts).toHaveLength(3)
    attempts[2]?.()
  })

  it('runs imports one after the other, without a fetch meanwhile', async () => {
    const { poller, attempts, tick } = setUp()
    poller.start()
    const done: string[] = []
    const ends: (() => void)[] = []
    const bring = (name: string) =>
      poller.inTurn(async () => {
        done.push(`${name} begins`)
        await new Promise<void>((resolve) => ends.push(resolve))
        done.push(`${name} ends`)
        return { outcome: 'updated', revision: 2, error: null, retryAfterMs: null }
      })

    const [first, second] = [bring('first'), bring('second')]
    await sleep(1)
    expect(done).toEqual([])
    attempts[0]?.()
    await sleep(1)
    tick()
    expect([attempts.length, ...done]).toEqual([1, 'first begins'])
    ends[0]?.()
    expect(await first).toMatchObject({ revision: 2 })
    await sleep(1)
    ends[1]?.()
    await second

    expect(done).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
    tick()
    expect(attempts).toHaveLength(2)
    attempts[1]?.()
  })

  it('stays away as the server has asked, despite imports', async () => {
    const { poller, attempts, tick } = setUp()
    poller.start()
    attempts[0]?.({ outcome: 'failed', retryAfterMs: 60_000 })
    await sleep(1)

    await poller.inTurn(async () => ({
      outcome: 'updated',
      revision: 2,
      error: null,
      retryAfterMs: null,
    }))
    tick()

    expect(attempts).toHaveLength(1)
    expect(poller.nextAttemptAt()).toBe(NOW_MS + 60_000)
  })

  it('answers all callers during a fetch with one that begins after it', async () => {
    const { poller, attempts } = setUp()
    poller.start()

    const answers = Promise.all([poller.demand(), poller.demand(), poller.demand()])
    expect(attempts).toHaveLength(1)
    attempts[0]?.({ revision: 1 })
    await sleep(1)
    expect(attempts).toHaveLength(2)
    attempts[1]?.({ revision: 2 })

    expect((await answers).map(({ revision }) => revision)).toEqual([2, 2, 2])
    expect(attempts).toHaveLength(2)
  })

  it('stays away as long as the server asks, but answers a person', async () => {
    const scene = setUp()
    scene.poller.start()
    scene.attempts[0]?.({ outcome: 'failed', retryAfterMs: 60_000 })
    await sleep(1)
    expect(scene.poller.nextAttemptAt()).toBe(NOW_MS + 60_000)

    scene.tick()
    expect(scene.attempts).toHaveLength(1)

    const answer = scene.poller.demand()
    scene.attempts[1]?.()
    expect((await answer).outcome).toBe('unchanged')
    scene.nowMs += 60_000
    scene.tick()
    expect(scene.attempts).toHaveLength(3)
  })

  it('aborts the running attempt when it stops', async () => {
    const { poller, attempts } = setUp()
    poller.start()

    await poller.stop()

    expect(attempts).toHaveLength(1)
  })
})

describe('the poller told to stay away', () => {
  it('does not stay away longer because the clock was set back', async () => {
    const scene = setUp()
    const { poller, attempts, tick } = scene
    poller.start()
    attempts[0]?.({ outcome: 'failed', retryAfterMs: 60_000 })
    await sleep(1)
    tick()
    expect(attempts).toHaveLength(1)

    scene.nowMs = NOW_MS - 3_600_000
    tick()

    expect(attempts).toHaveLength(2)
    attempts[1]?.()
    await poller.stop()
  })
})

describe('the timetable', () => {
  const at = (fraction: number, nowMs: number): number | null => {
    const timetable = createTimetable(
      createSchedule('*/5 * * * *', () => nowMs),
      fraction,
      () => nowMs,
    )
    onTestFinished(() => timetable.stop())
    timetable.start(() => {})
    return timetable.nextAt()
  }

  it('shifts every tick by the same part of the period', () => {
    const nowMs = Date.now()

    const early = at(0, nowMs)
    const late = at(0.999, nowMs)

    expect((early ?? 0) % 300_000).toBe(0)
    expect((late ?? 0) % 300_000).toBe(299_700)
  })

  it.each([0, 0.25, 0.5, 0.75, 0.999])(
    'ticks within a period of the start at phase %d',
    (fraction) => {
      const nowMs = Date.now()

      const next = at(fraction, nowMs) ?? 0

      expect(next).toBeGreaterThan(nowMs)
      expect(next - nowMs).toBeLessThanOrEqual(300_000)
    },
  )

  it('ticks until it is stopped', () => {
    vi.useFakeTimers({ now: NOW_MS })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    let ticks = 0
    const timetable = createTimetable(createSchedule('* * * * * *', Date.now), 0.1, Date.now)
    timetable.start(() => (ticks += 1))
    vi.advanceTimersByTime(10_000)
    expect(ticks).toBe(10)

    timetable.stop()
    vi.advanceTimersByTime(10_000)

    expect(ticks).toBe(10)
    expect(timetable.nextAt()).toBeNull()
  })

  const ways = [
    ['back', -30 * 24 * 3_600_000],
    ['forward', 30 * 24 * 3_600_000],
    // A machine without a real-time clock starts in 1970.
    ['forward by decades', 56 * 365 * 24 * 3_600_000],
  ] as const
  // Once without cron, once with it.
  const expressions = ['*/5 * * * *', '0 */5 * * * *']
  it.each(
    ways.flatMap(([way, shiftMs]) => expressions.map((each) => [way, each, shiftMs] as const)),
  )('still ticks when the clock was set %s, by %s', async (_way, expression, shiftMs) => {
    vi.useFakeTimers({ now: NOW_MS })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    let ticks = 0
    const timetable = createTimetable(createSchedule(expression, Date.now), 0.5, Date.now)
    timetable.start(() => {
      ticks += 1
    })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(ticks).toBe(0)

    vi.setSystemTime(NOW_MS + shiftMs)
    await vi.advanceTimersByTimeAsync(60_000)
    // The elapsed time is unknown, so one tick comes at once; the others keep their period.
    expect(ticks).toBe(1)
    await vi.advanceTimersByTimeAsync(10 * 60_000)

    expect(ticks).toBe(3)
    timetable.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})
