import { ApiError } from '../http/api-error.ts'

/** Each running hash holds 19 MiB and one of libuv's four threads, which the disk needs too. */
const MAX_RUNNING = 2
const MAX_WAITING = 64

/** Runs at most two pieces of slow work at once; throws 429 when 64 others wait already. */
export interface PasswordQueue {
  run<T>(work: () => Promise<T>): Promise<T>
  /** How much waits for its turn. */
  waiting(): number
}

export function createPasswordQueue(): PasswordQueue {
  const waiting: (() => void)[] = []
  let running = 0

  async function enter(): Promise<void> {
    if (running < MAX_RUNNING) {
      running += 1
      return
    }
    if (waiting.length >= MAX_WAITING) throw tooManyRequests(1)
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  /** The place passes to the next in line, so `running` stays as it is while somebody waits. */
  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }

  return {
    async run(work) {
      await enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
    waiting: () => waiting.length,
  }
}

/** 429 with `Retry-After`. */
export function tooManyRequests(retryAfterSeconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many attempts; wait and try again', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
