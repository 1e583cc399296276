import {
  MAX_REPLAY_RULES,
  type NotJudgedCause,
  type ReplayedChange,
  type ReplayedExample,
  type ReplayedGroup,
  type ReplayResult as ReplayAnswer,
} from '@palisade/protocol'
import type { ReplayJob } from './replay-job.ts'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import type { ReplayedDecision } from './change-groups.ts'
import type { ReplayChanges, ReplayGroup } from './replay-changes.ts'
import type { ReplayCount } from './replay-tally.ts'
import type { ReplayResult } from './replay.ts'

interface FormatReplayOptions {
  readonly job: ReplayJob
  /** Decisions beyond the bound of the reader. */
  readonly leftOut: number
  /** The tuples of `examplesOf`, by their key. */
  readonly examples: ReadonlyMap<number, EvidenceTuple>
}

/** The keys of the tuples that a formatted result shows. */
export function examplesOf({
  newlyDenied,
  newlyAllowed,
  drift,
  notJudged,
}: ReplayResult): readonly number[] {
  const counts = [
    ...newlyDenied.shown,
    ...newlyAllowed.shown,
    ...drift.values(),
    ...notJudged.values(),
  ]
  return [...new Set(counts.flatMap(({ example }) => (example === null ? [] : [example.tuple])))]
}

/** Formats the result of a job. */
export function formatReplay(
  { recorded, newlyDenied, newlyAllowed, unchanged, ...result }: ReplayResult,
  { job: { names, ...job }, leftOut, examples }: FormatReplayOptions,
): ReplayAnswer {
  const bounds = { names, examples }
  const notJudged: ReplayAnswer['not_judged'] = [...result.notJudged].map(([cause, count]) =>
    formatCause<NotJudgedCause>(cause, count, bounds),
  )
  const tooMany = { ...NONE, count: leftOut, cause: 'too_many' as const, example: null }
  return {
    revision: job.revision,
    from: formatInstant(job.fromMs),
    to: formatInstant(job.toMs),
    ...job.upload,
    recorded: { ...formatCount(recorded), count: recorded.decisions + leftOut },
    newly_denied: formatChange(newlyDenied, bounds),
    newly_allowed: formatChange(newlyAllowed, bounds),
    unchanged: formatCount(unchanged),
    without_address: formatCount(result.withoutAddress),
    not_judged: (leftOut === 0 ? notJudged : [...notJudged, tooMany]).toSorted(mostFirst),
    drift: [...result.drift]
      .map(([cause, count]) => formatCause(cause, count, bounds))
      .toSorted(mostFirst),
  }
}

const NONE = { count: 0, users: 0, devices: 0, first_at: null, last_at: null }

/** The target of a single device would show what its user does. */
export const LEAST_DEVICES = 2

type Bounds = Pick<ReplayJob, 'names'> & Pick<FormatReplayOptions, 'examples'>

function formatChange({ decisions, groups, shown }: ReplayChanges, bounds: Bounds): ReplayedChange {
  return {
    count: decisions,
    groups: shown.map((group) => formatGroup(group, bounds)),
    more_groups: groups - shown.length,
    more_count: decisions - sum(shown),
  }
}

function sum(groups: readonly ReplayGroup[]): number {
  return groups.reduce((total, { decisions }) => total + decisions, 0)
}

function formatGroup(
  { action, target, before, after, ...count }: ReplayGroup,
  bounds: Bounds,
): ReplayedGroup {
  return {
    action,
    target,
    before: formatDecision(before),
    after: formatDecision(after),
    ...formatCount(count),
    example: formatExample(count, bounds),
  }
}

function formatDecision({ decision, reason, rules }: ReplayedDecision): ReplayedGroup['before'] {
  return { decision, reason, rules: rules.slice(0, MAX_REPLAY_RULES) }
}

function formatCause<Cause extends string>(cause: Cause, count: ReplayCount, bounds: Bounds) {
  return { cause, ...formatCount(count), example: formatExample(count, bounds) }
}

function formatCount({ decisions, users, devices, first_ms, last_ms }: ReplayCount) {
  return {
    count: decisions,
    users,
    devices,
    first_at: first_ms === null ? null : formatInstant(first_ms),
    last_at: last_ms === null ? null : formatInstant(last_ms),
  }
}

function formatExample(
  { example }: ReplayCount,
  { names, examples }: Bounds,
): ReplayedExample | null {
  const tuple = example === null ? undefined : examples.get(example.tuple)
  if (example === null || tuple === undefined || !names) return null
  const { device_id, username, last_ms } = example
  const { action, host, port, address, path, program, decision, reason, revision } = tuple
  return {
    device_id,
    username,
    action,
    target: path ?? (host === null ? null : `${host}:${String(port)}`),
    address,
    program,
    recorded_decision: decision,
    recorded_reason: reason,
    recorded_revision: revision,
    recorded_at: formatInstant(last_ms),
  }
}

function mostFirst(one: { readonly count: number }, other: { readonly count: number }): number {
  return other.count - one.count
}

function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}
