/** So much of the time that has really passed is lost when the machine loses its power. */
const KEEP_EVERY_MS = 10 * 60_000

/** As it is kept on disk, so that a restart does not make it earlier. */
export interface KeptTime {
  readonly seen_ms: number
  readonly floor_ms: number
}

export interface Bounds {
  /**
   * What is issued later than this is of the future. By the own clock alone: were an issue to
   * count, a thief of the online key could lift it by the tolerance again and again.
   */
  readonly futureMs: number
  /**
   * What has expired by then has expired. Not by what the clock has shown once: it may be mended.
   */
  readonly expiryMs: number
}

/** What the machine knows about the time, read by its two clocks. */
export interface TrustedClock {
  /** Epoch milliseconds; never falls but when a later issue proves the clock to have been wrong. */
  now(): number
  bounds(): Bounds
  /** At start, before anything is in force. */
  restore(kept: KeptTime | null): void
  recall(issuedMs: number): void
  believe(issuedMs: number, staleMs: number): void
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
    recall(issuedMs) {
      time = recall(pass(), issuedMs)
    },
    believe(issuedMs, staleMs) {
      time = believe(pass(), issuedMs, staleMs)
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
 * To be called often: keeps what is known about the time every ten minutes. What cannot be written
 * is told, and tried again after the next ten.
 */
export function createTimeKeeper(deps: {
  readonly keep: () => Promise<void>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly onError: (error: unknown) => void
}): () => void {
  let triedAtMs = deps.uptime()
  return () => {
    const nowMs = deps.uptime()
    if (nowMs - triedAtMs < KEEP_EVERY_MS) return
    triedAtMs = nowMs
    deps.keep().catch(deps.onError)
  }
}

/** What the two clocks of a machine show; both in milliseconds. */
interface Reading {
  /** Since 1970. Anybody may have set it. */
  readonly wallMs: number
  /** Since some moment; nobody sets it, and it stands still while the machine is off or asleep. */
  readonly uptimeMs: number
}

/** What a machine knows about the time; in milliseconds since 1970 but for `uptimeMs`. */
interface TrustedTime extends Reading {
  /** The latest that its own clock has shown, gone on by the time that really passed since. */
  readonly seenMs: number
  /** The latest issue that was accepted, gone on in the same way: it is no earlier than this. */
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

/** What is on disk was issued, so that moment has passed. */
function recall(time: TrustedTime, issuedMs: number): TrustedTime {
  return {
    ...time,
    floorMs: Math.max(time.floorMs, issuedMs),
    issuedMs: Math.max(time.issuedMs, issuedMs),
  }
}

/**
 * The same for what was fetched and accepted. A later issue that would be stale already by what the
 * own clock has shown once proves that clock to have been wrong, and it is forgotten.
 */
function believe(time: TrustedTime, issuedMs: number, staleMs: number): TrustedTime {
  const next = recall(time, issuedMs)
  if (issuedMs <= time.issuedMs || time.seenMs < staleMs) return next
  return { ...next, seenMs: Math.max(time.wallMs, next.floorMs) }
}

/** After other keys nothing counts that the former ones have signed. */
function forgetIssues(time: TrustedTime): TrustedTime {
  return { ...time, floorMs: 0, issuedMs: 0 }
}

/** By when what is in force grows old: setting the clock back must not make it young again. */
function presentOf({ seenMs, floorMs }: TrustedTime): number {
  return Math.max(seenMs, floorMs)
}

/** How what is fetched is judged. */
function boundsOf({ seenMs, wallMs, floorMs }: TrustedTime): Bounds {
  return { futureMs: seenMs, expiryMs: Math.max(wallMs, floorMs) }
}
