import { RENEWAL_SECONDS } from '@palisade/protocol'
import type { RootRecord, ViewRecord } from '../../store/distribution-records.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** A machine that misses two of them is not stale yet. */
const RENEWALS_OF_LIFE = 4
const TARGETS_RENEWAL_MS = 30 * DAY_MS
const SNAPSHOT_RENEWAL_MS = DAY_MS

/** Which of a view's files have to be signed anew. Each one contains those before it. */
export type DueRole = 'nothing' | 'timestamp' | 'snapshot' | 'targets'

export interface Inspection {
  readonly root: RootRecord
  readonly contentHash: string
  readonly nowMs: number
  /** Whether a machine has asked for a newer timestamp. */
  readonly isRenewal: boolean
}

export function findDueRole(
  view: ViewRecord | null,
  { root, contentHash, nowMs, isRenewal }: Inspection,
): DueRole {
  if (view === null || view.content_hash !== contentHash) return 'targets'
  // Another root may have other keys.
  if (view.root_version !== root.version) return 'targets'
  if (nowMs - Date.parse(view.targets_signed_at) >= TARGETS_RENEWAL_MS) return 'targets'
  if (nowMs - Date.parse(view.snapshot_signed_at) >= SNAPSHOT_RENEWAL_MS) return 'snapshot'
  return isWithin(termOfTimestamp(view, isRenewal), nowMs) ? 'nothing' : 'timestamp'
}

/** From when, and before when, a signed timestamp is served; milliseconds since 1970. */
export interface Term {
  readonly fromMs: number
  readonly untilMs: number
}

/**
 * To its next hour, or sooner where it lives for a few hours alone. Its begin is for a clock that
 * ran ahead and signed with a time still to come.
 */
export function termOfTimestamp(view: ViewRecord, isRenewal = false): Term {
  const signedMs = Date.parse(view.timestamp_signed_at)
  const periodMs = Math.min(HOUR_MS, lifeOf(view) / RENEWALS_OF_LIFE)
  const usualMs = startOfPeriod(signedMs, view.id, periodMs) + periodMs
  // A lower bound for every caller: all machines of the view fetch each file that is signed.
  const untilMs = isRenewal ? Math.min(usualMs, signedMs + RENEWAL_SECONDS * 1000) : usualMs
  return { fromMs: signedMs - HOUR_MS, untilMs }
}

/** Reads the life of the timestamp, in milliseconds. */
function lifeOf({ timestamp_body }: ViewRecord): number {
  const { signed } = JSON.parse(Buffer.from(timestamp_body).toString()) as {
    readonly signed: { readonly 'x-issued': string; readonly expires: string }
  }
  return Date.parse(signed.expires) - Date.parse(signed['x-issued'])
}

export function isWithin({ fromMs, untilMs }: Term, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs
}

/**
 * Files replaced before this time are not served any more, in seconds since 1970. Machines in the
 * middle of an update still ask for the files that it began with.
 */
export function startOfKept(now: Date): number {
  return secondsOf(now) - DAY_MS / 1000
}

/** Whole seconds since 1970, the base of versions. */
export function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

/**
 * Start of the view's renewal period around `ms`, in milliseconds since 1970. Each view has its own
 * offset, which spreads the load on servers and machines over the period.
 */
export function startOfPeriod(ms: number, viewId: string, periodMs: number): number {
  const offset = Number.parseInt(viewId.slice(0, 8), 16) % periodMs
  return Math.floor((ms - offset) / periodMs) * periodMs + offset
}
