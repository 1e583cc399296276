import type { RecordedProgram } from '@palisade/protocol'
import type { StampedEvent } from './recorded-event.ts'

/** Equal events with their sums, not yet a line. */
export interface RecordDraft {
  readonly event: Pick<StampedEvent, 'point' | 'protocol' | 'sandbox' | 'decision'>
  readonly program: RecordedProgram | null
  /** Epoch milliseconds of the first and the last event. */
  readonly sinceMs: number
  readonly untilMs: number
  readonly count: number
  readonly flow: FlowSum | null
}

export interface FlowSum {
  readonly cause: NonNullable<StampedEvent['flow']>['cause']
  readonly bytesSent: number
  readonly bytesReceived: number
  readonly durationMs: number
}

/**
 * Sums up equal events of one minute. The first of them is due at once; all later ones together
 * are due at the end of the minute, or denials when a reader asks. Every event is in exactly one
 * draft.
 */
export interface MinuteWindow {
  /**
   * Adds an event to the minute of `nowMs`, because its program may be found later than it. Returns
   * false for an event without room, which is then in no draft.
   */
  add(event: StampedEvent, program: RecordedProgram | null, nowMs: number): boolean
  /** Takes the drafts that are due at this time, or all of them. */
  take(nowMs: number | 'all'): readonly RecordDraft[]
  /**
   * Takes the repeated denials of this minute before its end, the newest of them up to a bound: the
   * last denial of the machine may be a repetition.
   */
  takeDenials(): readonly RecordDraft[]
  /** When a draft is due, in epoch milliseconds; 0 for at once, null without one. */
  dueMs(): number | null
}

/**
 * Part of a minute that one point may take for one sandbox. A program that asks about thousands of
 * names would hide its own connections otherwise, and those of others.
 */
const SANDBOX_SHARE = 1 / 8

/** Drafts of a minute that readers may cause: a program that asks in a loop must not fill disks. */
const MAX_EARLY = 1_000

export function createMinuteWindow(limits: {
  /** Length of a minute in milliseconds. */
  readonly windowMs: number
  /** Different events in one minute. */
  readonly maxTuples: number
}): MinuteWindow {
  const { windowMs, maxTuples } = limits
  let minute = Number.NaN
  let sums = new Map<string, Sum>()
  let due: Sum[] = []
  /** Sums that are due at the end of the minute. */
  let repeated: Sum[] = []
  /** Different events by the share that they take. */
  let shares = new Map<string, number>()
  let early = 0

  /** A clock that was set back also begins another minute. */
  const begin = (next: number): void => {
    minute = next
    due = due.concat(repeated)
    repeated = []
    sums = new Map()
    shares = new Map()
    early = 0
  }

  /** Returns false when the share of the event is taken. */
  const takeShare = ({ point, sandbox }: StampedEvent): boolean => {
    if (sandbox === undefined) return true
    const share = `${point} ${sandbox}`
    const taken = shares.get(share) ?? 0
    if (taken >= maxTuples * SANDBOX_SHARE) return false
    shares.set(share, taken + 1)
    return true
  }

  return {
    add(event, program, nowMs) {
      const present = Math.floor(nowMs / windowMs)
      if (present !== minute) begin(present)
      const tuple = program === null ? event.key : `${event.key} ${keyOfProgram(program)}`
      let sum = sums.get(tuple)
      if (sum === undefined) {
        if (sums.size >= maxTuples || due.length >= maxTuples) return false
        if (!takeShare(event)) return false
        sum = createSum(event, program)
        sums.set(tuple, sum)
        due.push(sum)
      } else if (sum.count === 0) {
        repeated.push(sum)
      }
      addTo(sum, event)
      return true
    },

    take(nowMs) {
      if (nowMs === 'all' || Math.floor(nowMs / windowMs) !== minute) begin(Number.NaN)
      const taken = due
      due = []
      return taken.map(takeDraft)
    },

    takeDenials() {
      const taken = repeated
        .filter(({ event }) => event.decision.decision === 'deny')
        .toSorted((a, b) => b.untilMs - a.untilMs)
        .slice(0, MAX_EARLY - early)
      early += taken.length
      const isTaken = new Set(taken)
      repeated = repeated.filter((sum) => !isTaken.has(sum))
      return taken.map(takeDraft)
    },

    dueMs() {
      if (due.length > 0) return 0
      return repeated.length > 0 ? (minute + 1) * windowMs : null
    },
  }
}

/** A draft that grows. */
interface Sum {
  readonly event: RecordDraft['event']
  readonly program: RecordedProgram | null
  readonly cause: FlowSum['cause'] | null
  sinceMs: number
  untilMs: number
  /** Events since the last draft. */
  count: number
  bytesSent: number
  bytesReceived: number
  durationMs: number
}

function createSum(
  { point, protocol, sandbox, decision, flow }: StampedEvent,
  program: RecordedProgram | null,
): Sum {
  return {
    event: { point, protocol, ...(sandbox === undefined ? {} : { sandbox }), decision },
    program,
    cause: flow?.cause ?? null,
    ...EMPTY,
  }
}

const EMPTY = {
  sinceMs: 0,
  untilMs: 0,
  count: 0,
  bytesSent: 0,
  bytesReceived: 0,
  durationMs: 0,
} as const

function addTo(sum: Sum, { flow, atMs }: StampedEvent): void {
  sum.sinceMs = sum.count === 0 ? atMs : Math.min(sum.sinceMs, atMs)
  sum.untilMs = Math.max(sum.untilMs, atMs)
  sum.count += 1
  if (flow === undefined) return
  sum.bytesSent += flow.bytesSent
  sum.bytesReceived += flow.bytesReceived
  sum.durationMs += flow.durationMs
}

function takeDraft(sum: Sum): RecordDraft {
  const { event, program, cause, sinceMs, untilMs, count, ...flow } = sum
  Object.assign(sum, EMPTY)
  const { bytesSent, bytesReceived, durationMs } = flow
  return {
    event,
    program,
    sinceMs,
    untilMs,
    count,
    flow: cause === null ? null : { cause, bytesSent, bytesReceived, durationMs },
  }
}

/** Names of executables may hold any character; the key of an event before it has no open end. */
function keyOfProgram({ pid, executable, user }: RecordedProgram): string {
  return `${user.uid} ${pid ?? ''} ${executable ?? ''}`
}
