import { atMost, type RangedGoal } from '../goals/ranged-goal.ts'
import { rangeOf, type Range } from '../measure/range.ts'
import { CREATE, CREATE_ALONE, POLICY, POLL, POLL_SEEN, TIMESTAMP } from './cases/request-rows.ts'
import type { LargeResult } from './cases/large-store.ts'
import type { StartResult } from './cases/start.ts'
import type { IngestRow } from './evidence/ingest-row.ts'
import type { HostileResult } from './hostile/measure-hostile.ts'
import type { Row } from './rounds.ts'

export interface ServerFigures {
  readonly rows: readonly Row[]
  readonly start: StartResult | null
  readonly large: LargeResult | null
  /** Milliseconds until all views are signed. */
  readonly publish: Range | null
  /** Bytes of two million remembered proofs. */
  readonly proofs: number | null
  readonly evidence: readonly IngestRow[]
  readonly hostile: HostileResult | null
}

const MIB = 1024 * 1024

/** Compares the measured figures with every goal of the server. */
export function judgeServer(figures: ServerFigures): RangedGoal[] {
  const { rows, start, large, publish, proofs, evidence, hostile } = figures
  const row = (name: string): Row | undefined => rows.find((each) => each.name === name)
  const ratio = (name: string, must: number): RangedGoal => {
    const range = row(name)?.ratio ?? null
    const reached = range?.median ?? null
    return { name, unit: 'x bare', isAtLeast: true, must, reached, range }
  }
  return [
    ratio(POLL, 0.55),
    ratio(POLL_SEEN, 0.5),
    ratio(TIMESTAMP, 0.5),
    ratio(POLICY, 0.3),
    ratio(CREATE, 0.05),
    groupGoal(row(CREATE), row(CREATE_ALONE)),
    atMost('start to first 200', 'ms', 1000, start?.start_ms ?? null),
    atMost('idle memory', 'MiB', 130, inMib(start?.idle_rss ?? null)),
    atMost('100 policies, 500 views, all signed', 'ms', 400, publish),
    atMost('1,000 x 100 x 50, memory', 'MiB', 600, large === null ? null : single(large.peak_rss)),
    atMost('two million remembered proofs', 'MiB', 256, proofs === null ? null : single(proofs)),
    atMost('ingest of a decision record', 'us CPU', 12, ingestRange(evidence)),
    ...(hostile === null ? [] : hostileGoals(hostile)),
  ]
}

/** Over all rows, those of new targets too. */
function ingestRange(rows: readonly IngestRow[]): Range | null {
  return rows.length === 0 ? null : rangeOf(rows.map(({ ingested_us }) => ingested_us))
}

/** One goal over all rows, decided by the worst row. */
function hostileGoals({ rows, peak_rss, survives_small_heap }: HostileResult): RangedGoal[] {
  const goal = (name: string, unit: string, must: number, values: readonly number[]) => {
    const range = rangeOf(values)
    return { name, unit, isAtLeast: false, must, reached: range.most, range }
  }
  return [
    goal(
      'bystander p99 beside the worst hostile load',
      'x its rest',
      5,
      rows.map((row) => row.p99_ms / row.rest_p99_ms),
    ),
    goal(
      'the same in time',
      'ms',
      50,
      rows.map((row) => row.p99_ms),
    ),
    goal(
      'bystander answered 5xx or not at all',
      'requests',
      0,
      rows.map((row) => row.failed),
    ),
    goal('hostile loads, memory', 'MiB', 600, [peak_rss / MIB]),
    goal('servers with 256 MiB of heap that end', 'processes', 0, [survives_small_heap ? 0 : 1]),
  ]
}

/** Divides within each round, because the machine's speed changes between rounds. */
function groupGoal(together: Row | undefined, alone: Row | undefined): RangedGoal {
  const ratios = together?.per_second_rounds.map(
    (perSecond, round) => perSecond / (alone?.per_second_rounds[round] ?? Number.NaN),
  )
  const range = ratios === undefined || alone === undefined ? null : rangeOf(ratios)
  const goal = { unit: 'x one commit each', isAtLeast: true, must: 3 } as const
  return { name: `${CREATE}, a second`, ...goal, reached: range?.median ?? null, range }
}

function inMib(range: Range | null): Range | null {
  if (range === null) return null
  return { median: range.median / MIB, least: range.least / MIB, most: range.most / MIB }
}

function single(bytes: number): Range {
  const value = bytes / MIB
  return { median: value, least: value, most: value }
}
