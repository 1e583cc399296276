import { backOffMs } from '@palisade/client'
import type { AgentStatus, Hint } from '@palisade/protocol'
import { setTimeout as pause } from 'node:timers/promises'
import type { SyncOutcome } from '../update/synchronizer.ts'
import type { FetchFile } from '../transport/fetch-file.ts'
import { askForHint, type HintAnswer, type HintQuestion } from './ask-for-hint.ts'
import { createTimeBudget } from './time-budget.ts'

/** Longer than a server holds a request. */
const TIMEOUT_MS = 65_000
/** Least pause between two requests, and so between two polls, however many hints arrive. */
const LEAST_PAUSE_MS = 1_000
const RETRY = { firstMs: 5_000, capMs: 5 * 60_000 } as const
/** Pause for a server without hints; it may be updated. */
const ABSENT_MS = 60 * 60_000
/** About sixty changes in a row, or eight hints without a change. */
const BUDGET_MS = 5 * 60_000
/** Cost of each request: a server with endless news is asked every five seconds. */
const REQUEST_COST_MS = 5_000
/** Extra cost of a fruitless request: a server that lies is asked twice a minute. */
const FUTILE_COST_MS = 30_000
/**
 * For this many spreads other machines may still be polling: those late in the spread also wait for
 * earlier ones when the server is slow.
 */
const SPREADS_FOR_OTHERS = 1.5
/** The server did not hold a request that it answers without news in less than this. */
const HASTY_MS = 1_000
const BAD_REQUEST = 400

export interface HintListenerDeps {
  /** Without `since` the answer is the current number. */
  readonly ask: (question: HintQuestion, signal: AbortSignal) => Promise<HintAnswer>
  /** Version of the newest accepted assignment of this machine. */
  readonly assignment: () => number
  /** Polls; resolves to null while the server has asked the machine to stay away. */
  readonly poll: () => Promise<Pick<SyncOutcome, 'outcome'> | null>
  /** Called before each poll with the time for which other machines may poll as well. */
  readonly holdBack: (ms: number) => void
  /** Resolves after that many milliseconds, or when the signal aborts. */
  readonly rest: (ms: number, signal: AbortSignal) => Promise<void>
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
}

export interface HintListener {
  start(): void
  status(): AgentStatus['hints']
  /** Aborts the pending request; resolves when it, and a poll under way, have ended. */
  stop(): Promise<void>
}

/** Listens to the server of this machine, polls with its poller, and holds back its reporter. */
export function listenForHints(deps: {
  readonly fetchFile: FetchFile
  readonly poller: { readonly hinted: HintListenerDeps['poll'] }
  readonly reporter: Pick<HintListenerDeps, 'holdBack'>
  readonly assignment: HintListenerDeps['assignment']
  readonly clock: () => number
  readonly uptime: () => number
  readonly random: () => number
}): HintListener {
  const { fetchFile, poller, reporter, ...clocks } = deps
  return createHintListener({
    ...clocks,
    ask: (question, signal) => askForHint(fetchFile, TIMEOUT_MS, question, signal),
    rest: (ms, signal) => pause(ms, undefined, { signal, ref: false }).catch(() => undefined),
    poll: poller.hinted,
    holdBack: reporter.holdBack,
  })
}

/**
 * Waits for a hint from the server, then polls. A hint is trusted for no more than that: it causes
 * at most one poll, one a second at most, and fewer when polls find no update. The first number
 * counts as news, because earlier changes were not heard of.
 */
export function createHintListener(deps: HintListenerDeps): HintListener {
  const { clock, uptime, random } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const budget = createTimeBudget(BUDGET_MS, uptime)
  let since: number | null = null
  /** A server of an earlier version refuses the question for assignments with 400. */
  let knowsAssignments = true
  let failures = 0
  let status: AgentStatus['hints'] = { is_on: true, failing_since: null, last_error: null }
  let running: Promise<void> | null = null

  async function listen(): Promise<void> {
    while (!signal.aborted) {
      await rest(budget.owedMs())
      budget.spend(REQUEST_COST_MS)
      const askedMs = uptime()
      const version = deps.assignment()
      const assignment = knowsAssignments && version > 0 ? version : null
      const answer = await deps.ask({ since, assignment }, signal)
      if (signal.aborted) return
      if (answer.kind === 'fault' && answer.status === BAD_REQUEST) knowsAssignments = false
      note(answer)
      await rest(Math.max(await actOn(answer, uptime() - askedMs), LEAST_PAUSE_MS))
    }
  }

  /** Acts on the answer; returns the pause before the next request. */
  async function actOn(answer: HintAnswer, tookMs: number): Promise<number> {
    if (answer.kind === 'absent') return ABSENT_MS * (0.9 + 0.2 * random())
    if (answer.kind === 'fault') return Math.max(backOff(), answer.retryAfterMs ?? 0)
    const { revision, spread_seconds } = answer.hint
    const spreadMs = spread_seconds * 1000
    await rest(random() * spreadMs)
    if (revision === since && !isAssigned(answer.hint)) {
      if (tookMs < HASTY_MS) budget.spend(FUTILE_COST_MS)
      failures = 0
      return 0
    }
    if (signal.aborted) return 0
    deps.holdBack(spreadMs * (SPREADS_FOR_OTHERS + random()))
    const polled = await poll()
    // After a failed poll the hint counts as not received.
    if (polled === null || polled.outcome === 'failed') return backOff()
    since = revision
    failures = 0
    // Changes in this pause are reported right after it.
    return spreadMs * SPREADS_FOR_OTHERS
  }

  function isAssigned({ assignment = 0 }: Hint): boolean {
    return assignment > deps.assignment()
  }

  /** A poll without news costs more, because a server may lie. */
  async function poll(): ReturnType<HintListenerDeps['poll']> {
    const before = deps.assignment()
    const polled = await deps.poll()
    const isNews = polled?.outcome === 'updated' || deps.assignment() > before
    if (!isNews) budget.spend(FUTILE_COST_MS)
    return polled
  }

  function backOff(): number {
    const pauseMs = backOffMs(failures, { ...RETRY, random })
    failures += 1
    return pauseMs
  }

  function note(answer: HintAnswer): void {
    if (answer.kind === 'hint') {
      status = { is_on: true, failing_since: null, last_error: null }
      return
    }
    const last_error =
      answer.kind === 'absent'
        ? { code: 'absent', message: 'the server does not support hints' }
        : { code: answer.code, message: answer.message }
    const failing_since = status.failing_since ?? new Date(clock()).toISOString()
    status = { is_on: true, failing_since, last_error }
  }

  async function rest(ms: number): Promise<void> {
    if (ms > 0 && !signal.aborted) await deps.rest(ms, signal)
  }

  return {
    start() {
      running ??= listen()
    },
    status: () => status,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Hints that are switched off. */
export const HINTS_OFF: HintListener = {
  start() {},
  status: () => ({ is_on: false, failing_since: null, last_error: null }),
  async stop() {},
}
