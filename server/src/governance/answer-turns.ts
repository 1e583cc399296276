import { ApiError } from '../http/api-error.ts'

/** Large answers in the making at once; each may hold 40 MB until it is sent. */
const MAX_RUNNING = 2
/** Of each organization. */
const MAX_WAITING_EACH = 4
const MAX_WAITING = 64

/** Who makes a large answer when. */
export interface AnswerTurns {
  /**
   * Runs `work` when it is the organization's turn: one of each at a time, `maxRunning` of all, so
   * that none takes the server from the others. Throws 429 when `maxWaitingEach` of it wait already,
   * or 64 of all.
   */
  run<T>(org: string, work: () => Promise<T>): Promise<T>
}

export function createAnswerTurns(
  maxWaitingEach = MAX_WAITING_EACH,
  maxRunning = MAX_RUNNING,
): AnswerTurns {
  const running = new Set<string>()
  const waiting: { readonly org: string; readonly begin: () => void }[] = []

  async function enter(org: string): Promise<void> {
    if (running.size < maxRunning && !running.has(org)) return void running.add(org)
    const own = waiting.filter((other) => other.org === org).length
    if (own >= maxWaitingEach || waiting.length >= MAX_WAITING)
      throw new ApiError(
        429,
        'limit_exceeded',
        'too many large requests are being served; wait and try again',
        { headers: { 'retry-after': '1' } },
      )
    await new Promise<void>((begin) => waiting.push({ org, begin }))
  }

  /** The next in line whose organization has no turn; the place is taken before anybody else looks. */
  function leave(org: string): void {
    running.delete(org)
    const index = waiting.findIndex((next) => !running.has(next.org))
    const [next] = index === -1 ? [] : waiting.splice(index, 1)
    if (next === undefined) return
    running.add(next.org)
    next.begin()
  }

  return {
    async run(org, work) {
      await enter(org)
      try {
        return await work()
      } finally {
        leave(org)
      }
    },
  }
}
