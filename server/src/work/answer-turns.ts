import { createFairQueue, type LanePath } from './fair-queue.ts'
import { ApiError } from '../platform/api-error.ts'

/** Large answers in the making at once; each may hold 40 MB until it is sent. */
const MAX_RUNNING = 2
/** Most waiting answers of each organization. */
const MAX_WAITING_EACH = 4
const MAX_WAITING = 64

/** Schedules the making of large answers. */
export interface AnswerTurns {
  /**
   * Runs `work` when it is the organization's turn: `maxRunningEach` of each organization at a
   * time, `maxRunning` of all, so that one organization cannot occupy the server. Callers of one
   * organization take turns too, and the organization whose work has just ended is behind all
   * others. Throws 429 when `maxWaitingEach` of it wait already, or `maxWaiting` of all. If another
   * caller or organization has so many more waiting, its last one is refused instead.
   */
  run<T>(org: string, work: () => Promise<T>, caller?: string): Promise<T>
}

interface Waiting {
  readonly org: string
  readonly begin: () => void
  readonly refuse: (error: ApiError) => void
}

export function createAnswerTurns(
  maxWaitingEach = MAX_WAITING_EACH,
  maxRunning = MAX_RUNNING,
  maxWaiting = MAX_WAITING,
  maxRunningEach = 1,
): AnswerTurns {
  /** One entry for each piece of work. */
  const running: string[] = []
  const waiting = createFairQueue<Waiting>()

  const mayRun = (org: string): boolean =>
    running.filter((each) => each === org).length < maxRunningEach

  async function enter(path: readonly [org: string, caller: string]): Promise<void> {
    const [org] = path
    if (running.length < maxRunning && mayRun(org)) return void running.push(org)
    if (waiting.size([org]) >= maxWaitingEach) makeRoom(path, 1)
    else if (waiting.size() >= maxWaiting) makeRoom(path, 0)
    await new Promise<void>((begin, refuse) => waiting.push(path, { org, begin, refuse }))
  }

  function makeRoom(path: LanePath, shared: number): void {
    const refused = waiting.makeRoom(path, shared)
    if (refused === undefined) throw tooManyLarge()
    refused.refuse(tooManyLarge())
  }

  /** The next in line that may run; the slot is taken before any other looks. */
  function leave(org: string): void {
    running.splice(running.indexOf(org), 1)
    // It may have begun without waiting, and so have more turns than those that wait.
    waiting.defer(org)
    const next = waiting.shift(mayRun)
    if (next === undefined) return
    running.push(next.org)
    next.begin()
  }

  return {
    async run(org, work, caller = '') {
      await enter([org, caller])
      try {
        return await work()
      } finally {
        leave(org)
      }
    },
  }
}

/** 429 for one large request too many. */
export function tooManyLarge(): ApiError {
  return new ApiError(
    429,
    'limit_exceeded',
    'too many large requests are being served; wait and try again',
    { headers: { 'retry-after': '1' } },
  )
}
