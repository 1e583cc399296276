import type { Store } from '../store/store.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import type { Authenticate } from './authenticate.ts'

const MINUTE_MS = 60_000
/** Rows of one transaction, small enough not to delay other writers. */
const SLICE = 200
/** Bounds the memory while the store is unavailable. A dropped use is noted again at the next. */
const MAX_WAITING = 10_000

/**
 * Records when each secret token was last used, to the minute. Requests note uses in memory. New
 * ones are written once a minute, so a crash loses the last minute.
 */
export interface TokenUse {
  note(tokenId: string): void
  /** Writes pending uses. Await it before the store is closed. Never rejects. */
  flush(): Promise<void>
}

export function createTokenUse(deps: {
  readonly store: Pick<Store, 'transaction'>
  readonly now: () => Date
  /** Runs the work once, later, without keeping the process alive. Default: after a minute. */
  readonly later?: (work: () => Promise<void>) => void
}): TokenUse {
  const { store, now, later = inAMinute } = deps
  const waiting = new Map<string, number>()
  /** What is written already, so that a busy token costs one row a minute. */
  const written = createLruCache<number>(MAX_WAITING, () => 1)
  let isArmed = false

  function arm(): void {
    if (isArmed) return
    isArmed = true
    later(() => {
      isArmed = false
      return flush()
    })
  }

  async function flush(): Promise<void> {
    const slice = [...waiting].slice(0, SLICE)
    if (slice.length === 0) return
    try {
      await store.transaction(async ({ accessTokens }) => {
        for (const [id, minute] of slice) await accessTokens.touch(id, formatMinute(minute))
      })
    } catch {
      // The uses stay pending. Readiness and metrics report the failing store.
      arm()
      return
    }
    for (const [id, minute] of slice) {
      if (waiting.get(id) === minute) waiting.delete(id)
      written.keep(id, minute)
    }
    return flush()
  }

  return {
    note(tokenId) {
      const minute = Math.floor(now().getTime() / MINUTE_MS)
      if (written.find(tokenId) === minute) return
      if (waiting.size >= MAX_WAITING && !waiting.has(tokenId)) return
      waiting.set(tokenId, minute)
      arm()
    },
    flush,
  }
}

/** Wraps `authenticate` and notes each use of a session that a secret token opened. */
export function notingUse(authenticate: Authenticate, use: TokenUse): Authenticate {
  return async (authorizationHeader, from) => {
    const principal = await authenticate(authorizationHeader, from)
    if (principal.tokenId !== null) use.note(principal.tokenId)
    return principal
  }
}

function formatMinute(minute: number): string {
  return new Date(minute * MINUTE_MS).toISOString()
}

function inAMinute(work: () => Promise<void>): void {
  setTimeout(() => void work(), MINUTE_MS).unref()
}
