import { setTimeout as pause } from 'node:timers/promises'
import { internalFault } from '../fault.ts'
import type { SyncOutcome } from './synchronizer.ts'
import type { Timetable } from './timetable.ts'
import { createTimeBudget } from '../hint/time-budget.ts'

/** Attempts that may follow each other at once; after them one a second. */
const AT_ONCE = 30
const SPACE_MS = 1_000

export interface PollerDeps {
  /** `isNewsExpected` is false for the timetable, whose polls rarely find a change. */
  readonly run: (signal: AbortSignal, isNewsExpected: boolean) => Promise<SyncOutcome>
  readonly timetable: Timetable
  /** Epoch milliseconds. */
  readonly clock: () => number
  /**
   * Called with a bug: an attempt of the timetable is not awaited, so its rejection would end the
   * process.
   */
  readonly onError: (error: unknown) => void
}

/** Fetches at start, on the timetable, and on demand; never twice at the same time. */
export interface Poller {
  start(): void
  /** Called after each attempt that did not throw. */
  subscribe(listener: (outcome: SyncOutcome) => void): void
  /**
   * The outcome of an attempt that begins after this call: a caller that has just changed a policy
   * must not get the outcome of a fetch already under way. Callers that wait meanwhile share one
   * attempt.
   */
  demand(): Promise<SyncOutcome>
  /** Polls after a hint; resolves to null while the server has asked the machine to stay away. */
  hinted(): Promise<SyncOutcome | null>
  /** Runs another task that must not overlap a fetch. */
  inTurn<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T>
  nextAttemptAt(): number | null
  /** Aborts the running attempt; resolves when it has ended. */
  stop(): Promise<void>
}

export function createPoller(deps: PollerDeps): Poller {
  const stopping = new AbortController()
  const listeners: ((outcome: SyncOutcome) => void)[] = []
  let running: Promise<unknown> | null = null
  let queued: Promise<SyncOutcome> | null = null
  /**
   * `Retry-After` binds the timetable, not a person who asks now. The next tick after it has this
   * machine's own phase, so machines with the same delay do not return together.
   */
  let away = { sinceMs: 0, untilMs: 0 }

  /** When to ask again, or 0. A clock that was set back does not prolong the delay. */
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
    // Also after a failed task, whose error its own caller handles.
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
      // Checks again after each wait, because another waiter may have been faster.
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
 * Spaces the attempts that local programs ask for, so that they cannot use this machine to keep the
 * server busy. Callers that wait for the same attempt share it, because it begins after their
 * calls. `uptime` returns monotonic milliseconds; `demand` begins an attempt after its call.
 */
export function createSpacedDemand(
  demand: () => Promise<SyncOutcome>,
  uptime: () => number,
  rest: (ms: number) => Promise<void> = (ms) => pause(ms, undefined, { ref: false }),
): () => Promise<SyncOutcome> {
  const budget = createTimeBudget(AT_ONCE * SPACE_MS, uptime)
  let awaited: Promise<SyncOutcome> | null = null

  function begin(): Promise<SyncOutcome> {
    awaited = null
    budget.spend(SPACE_MS)
    return demand()
  }

  return () => {
    if (awaited !== null) return awaited
    const owedMs = budget.owedMs()
    if (owedMs === 0) return begin()
    awaited = rest(owedMs).then(begin)
    return awaited
  }
}
