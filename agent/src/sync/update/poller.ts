import { setTimeout as pause } from 'node:timers/promises'
import { internalFault } from '../fault.ts'
import type { SyncOutcome } from './synchronizer.ts'
import type { Timetable } from './timetable.ts'
import { createCredit } from '../../hint/credit.ts'

/** Attempts that may follow each other at once; then one for each second that passes. */
const AT_ONCE = 30
const SPACE_MS = 1_000

export interface PollerDeps {
  /** `isNewsExpected` but for the timetable, which most likely finds nothing new. */
  readonly run: (signal: AbortSignal, isNewsExpected: boolean) => Promise<SyncOutcome>
  readonly timetable: Timetable
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** A bug: nobody awaits an attempt of the timetable, so its rejection would end the process. */
  readonly onError: (error: unknown) => void
}

/** Fetches at start, on the timetable, and on demand; never twice at the same time. */
export interface Poller {
  start(): void
  /** Called after each attempt but those that threw. */
  subscribe(listener: (outcome: SyncOutcome) => void): void
  /**
   * The outcome of an attempt that began after this call: a caller who has just changed a policy
   * must not be answered by a fetch that was already under way. All who ask meanwhile share one.
   */
  demand(): Promise<SyncOutcome>
  /**
   * The same for a hint, which is nobody's wish: null while the server has asked us to stay away.
   */
  hinted(): Promise<SyncOutcome | null>
  /** Something else that must not meet a fetch: runs once nothing else does. */
  inTurn<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T>
  nextAttemptAt(): number | null
  /** Breaks off the running attempt; resolves when it has ended. */
  stop(): Promise<void>
}

export function createPoller(deps: PollerDeps): Poller {
  const stopping = new AbortController()
  const listeners: ((outcome: SyncOutcome) => void)[] = []
  let running: Promise<unknown> | null = null
  let queued: Promise<SyncOutcome> | null = null
  /**
   * `Retry-After` binds the timetable; a person who asks now is answered now. The next tick after
   * it is the machine's own, so those who were asked for the same do not come back together.
   */
  let away = { sinceMs: 0, untilMs: 0 }

  /** Until when to stay away; a clock that was set back does not make it longer. */
  const awayUntil = (): number => {
    const nowMs = deps.clock()
    return nowMs >= away.sinceMs && nowMs < away.untilMs ? away.untilMs : 0
  }

  const alone = async <T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await run(stopping.signal)
    } finally {
      running = null
    }
  }
  const poll = async (signal: AbortSignal, isNewsExpected = true): Promise<SyncOutcome> => {
    try {
      const outcome = await deps.run(signal, isNewsExpected)
      const nowMs = deps.clock()
      away = { sinceMs: nowMs, untilMs: nowMs + (outcome.retryAfterMs ?? 0) }
      for (const tell of listeners) tell(outcome)
      return outcome
    } catch (error) {
      deps.onError(error)
      const { code, message } = internalFault(error)
      return { outcome: 'failed', revision: null, error: { code, message }, retryAfterMs: null }
    }
  }
  const begin = <T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const begun = alone(run)
    running = begun
    return begun
  }

  const demand = (): Promise<SyncOutcome> => {
    if (queued !== null) return queued
    if (running === null) return begin(poll)
    const follow = (): Promise<SyncOutcome> => {
      queued = null
      return begin(poll)
    }
    // Also after something else that failed, which is its caller's to handle.
    queued = running.then(follow, follow)
    return queued
  }

  const onTick = (): void => {
    if (running !== null || queued !== null || awayUntil() > 0) return
    void begin((signal) => poll(signal, false))
  }

  return {
    start() {
      deps.timetable.start(onTick)
      void demand()
    },
    subscribe(listener) {
      listeners.push(listener)
    },
    demand,
    hinted: async () => (awayUntil() > 0 ? null : demand()),
    async inTurn(run) {
      // Again after each: whoever waited as well may have been faster.
      for (let before = queued ?? running; before !== null; before = queued ?? running)
        await before.catch(() => {})
      return begin(run)
    },
    nextAttemptAt() {
      const next = deps.timetable.nextAt()
      return next === null ? null : Math.max(next, awayUntil())
    },
    async stop() {
      deps.timetable.stop()
      stopping.abort()
      await (queued ?? running)?.catch(() => {})
    },
  }
}

/**
 * Spaces the attempts that local programs ask for, so that none of them can keep the server busy by
 * this machine. All who ask while one is waited for share it: it begins after they have asked.
 * `uptime` is monotonic, in milliseconds; `demand` begins an attempt after its call.
 */
export function createSpacedDemand(
  demand: () => Promise<SyncOutcome>,
  uptime: () => number,
  rest: (ms: number) => Promise<void> = (ms) => pause(ms, undefined, { ref: false }),
): () => Promise<SyncOutcome> {
  const credit = createCredit(AT_ONCE * SPACE_MS, uptime)
  let awaited: Promise<SyncOutcome> | null = null

  function begin(): Promise<SyncOutcome> {
    awaited = null
    credit.spend(SPACE_MS)
    return demand()
  }

  return () => {
    if (awaited !== null) return awaited
    const owedMs = credit.owedMs()
    if (owedMs === 0) return begin()
    awaited = rest(owedMs).then(begin)
    return awaited
  }
}
