import {
  MAX_REPLAY_RULES,
  type NotJudgedCause,
  type ReplayedChange,
  type ReplayedExample,
  type ReplayedGroup,
  type ReplayResult as ReplayAnswer,
} from '@palisade/protocol'
import type { ReplayJob } from './replay-job.ts'
import type { ReplayCount } from './replay-tally.ts'
import type { ReplayedDecision, ReplayGroup, ReplayResult } from './replay.ts'

/** Formats the result of a job. `leftOut` decisions were beyond the bound of the reader. */
export function formatReplay(
  { newlyDenied, newlyAllowed, unchanged, ...result }: ReplayResult,
  recorded: ReplayCount,
  { job, leftOut }: { readonly job: ReplayJob; readonly leftOut: number },
): ReplayAnswer {
  const notJudged: ReplayAnswer['not_judged'] = [...result.notJudged].map(([cause, count]) =>
    formatCause<NotJudgedCause>(cause, count, job),
  )
  const tooMany = { ...NONE, count: leftOut, cause: 'too_many' as const, example: null }
  return {
    revision: job.revision,
    from: formatInstant(job.fromMs),
    to: formatInstant(job.toMs),
    ...job.upload,
    recorded: { ...formatCount(recorded), count: recorded.decisions + leftOut },
    newly_denied: formatChange(newlyDenied, job),
    newly_allowed: formatChange(newlyAllowed, job),
    unchanged: formatCount(unchanged),
    without_address: formatCount(result.withoutAddress),
    not_judged: (leftOut === 0 ? notJudged : [...notJudged, tooMany]).toSorted(mostFirst),
    drift: [...result.drift]
      .map(([cause, count]) => formatCause(cause, count, job))
      .toSorted(mostFirst),
  }
}

const NONE = { count: 0, users: 0, devices: 0, first_at: null, last_at: null }

/** The target of a single device would show what its user does. */
const LEAST_DEVICES = 2

type Bounds = Pick<ReplayJob, 'groups' | 'names'>

function formatChange(groups: readonly ReplayGroup[], bounds: Bounds): ReplayedChange {
  const shown = groups
    .filter(({ devices }) => bounds.names || devices >= LEAST_DEVICES)
    .slice(0, bounds.groups)
  const listed = new Set(shown)
  const more = groups.filter((group) => !listed.has(group))
  return {
    count: sum(groups),
    groups: shown.map((group) => formatGroup(group, bounds)),
    more_groups: more.length,
    more_count: sum(more),
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

function formatExample({ example }: ReplayCount, { names }: Bounds): ReplayedExample | null {
  if (example === null || !names) return null
  const { device_id, username, tuple, last_ms } = example
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
