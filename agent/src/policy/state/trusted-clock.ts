/** A power loss forgets at most this much elapsed time. */
const KEEP_EVERY_MS = 10 * 60_000
/** A power loss forgets less while a grant or a rule is to end: forgotten time would prolong it. */
const KEEP_WITH_EXPIRY_EVERY_MS = 60_000

/** Largest tolerated difference between the clocks of server and machine. */
export const CLOCK_TOLERANCE_MS = 10 * 60_000

/** Kept on disk, so that a restart does not set the time back. */
export interface KeptTime {
  readonly seen_ms: number
  readonly floor_ms: number
}

export interface Bounds {
  /**
   * An issue after this lies in the future. Only the machine's own clock counts: if accepted issues
   * counted too, a thief of the online key could raise it by the tolerance again and again.
   */
  readonly futureMs: number
  /**
   * Files that expire by this time are expired. The highest reading of the clock does not count,
   * because the clock may have been corrected since.
   */
  readonly expiryMs: number
}

/** The machine's knowledge of the time, from its two clocks. */
export interface TrustedClock {
  /** Epoch milliseconds; falls only when a later issue proves the clock wrong. */
  now(): number
  bounds(): Bounds
  /** Call at start, before any bundle is in force. */
  restore(kept: KeptTime | null): void
  noteKeptIssue(issuedMs: number): void
  noteFetchedIssue(issuedMs: number, staleMs: number): void
  forgetIssues(): void
  kept(): KeptTime
}

export function createTrustedClock(clocks: {
  /** Epoch milliseconds. */
  readonly wall: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}): TrustedClock {
  const read = () => ({ wallMs: clocks.wall(), uptimeMs: clocks.uptime() })
  let time = startTime(read())
  const pass = (): TrustedTime => (time = passTo(time, read()))

  return {
    now: () => presentOf(pass()),
    bounds: () => boundsOf(pass()),
    restore(kept) {
      time = startTime(read(), kept)
    },
    noteKeptIssue(issuedMs) {
      time = noteKeptIssue(pass(), issuedMs)
    },
    noteFetchedIssue(issuedMs, staleMs) {
      time = noteFetchedIssue(pass(), issuedMs, staleMs)
    },
    forgetIssues() {
      time = forgetIssues(pass())
    },
    kept() {
      const { seenMs, floorMs } = pass()
      return { seen_ms: seenMs, floor_ms: floorMs }
    },
  }
}

/**
 * Call often: keeps the known time on disk every ten minutes, and every minute while something is
 * to end by it. A failed write is reported, and retried after the same time.
 */
export function createTimeKeeper(deps: {
  readonly keep: () => Promise<void>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly hasExpiry: () => boolean
  readonly onError: (error: unknown) => void
}): () => void {
  let triedAtMs = deps.uptime()
  return () => {
    const nowMs = deps.uptime()
    const everyMs = deps.hasExpiry() ? KEEP_WITH_EXPIRY_EVERY_MS : KEEP_EVERY_MS
    if (nowMs - triedAtMs < everyMs) return
    triedAtMs = nowMs
    deps.keep().catch(deps.onError)
  }
}

/** The readings of a machine's two clocks, in milliseconds. */
interface Reading {
  /** Since 1970. Any user may have set it. */
  readonly wallMs: number
  /** Since an arbitrary moment. It cannot be set, and stops while the machine is off or asleep. */
  readonly uptimeMs: number
}

/** The known times of a machine, in milliseconds since 1970 except for `uptimeMs`. */
interface TrustedTime extends Reading {
  /** The highest reading of the machine's own clock, plus the time elapsed since. */
  readonly seenMs: number
  /**
   * The latest accepted issue, plus the time elapsed since: the present is no earlier than this.
   */
  readonly floorMs: number
  /** That issue as it was signed. */
  readonly issuedMs: number
}

function startTime(reading: Reading, kept: KeptTime | null = null): TrustedTime {
  const seenMs = Math.max(reading.wallMs, kept?.seen_ms ?? 0)
  return { ...reading, seenMs, floorMs: kept?.floor_ms ?? 0, issuedMs: 0 }
}

function passTo(time: TrustedTime, reading: Reading): TrustedTime {
  const elapsedMs = Math.max(0, reading.uptimeMs - time.uptimeMs)
  return {
    ...time,
    ...reading,
    seenMs: Math.max(reading.wallMs, time.seenMs + elapsedMs),
    floorMs: time.floorMs === 0 ? 0 : time.floorMs + elapsedMs,
  }
}

/** A bundle on disk was issued, so its issue time has passed. */
function noteKeptIssue(time: TrustedTime, issuedMs: number): TrustedTime {
  return {
    ...time,
    floorMs: Math.max(time.floorMs, issuedMs),
    issuedMs: Math.max(time.issuedMs, issuedMs),
  }
}

/**
 * Notes the issue of a bundle that was fetched and accepted. If a later issue would already be
 * stale by the highest reading of the clock, that reading was wrong and is dropped.
 */
function noteFetchedIssue(time: TrustedTime, issuedMs: number, staleMs: number): TrustedTime {
  const next = noteKeptIssue(time, issuedMs)
  if (issuedMs <= time.issuedMs || time.seenMs < staleMs) return next
  return { ...next, seenMs: Math.max(time.wallMs, next.floorMs) }
}

/** After a change of keys, issues signed by the former keys do not count. */
function forgetIssues(time: TrustedTime): TrustedTime {
  return { ...time, floorMs: 0, issuedMs: 0 }
}

/** The time that ages the bundle in force: setting the clock back must not make it younger. */
function presentOf({ seenMs, floorMs }: TrustedTime): number {
  return Math.max(seenMs, floorMs)
}

/** The time limits for fetched files. */
function boundsOf({ seenMs, wallMs, floorMs }: TrustedTime): Bounds {
  return { futureMs: seenMs, expiryMs: Math.max(wallMs, floorMs) }
}
