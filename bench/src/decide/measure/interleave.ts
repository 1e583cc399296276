import { Bench } from 'tinybench'
import { divide, quartilesOf } from '../../figures/range.ts'
import type { Row, Rows } from '../../figures/table.ts'

/** Work that is timed in slices. */
export interface Lane {
  readonly contender: string
  /** Runs untimed before every slice. */
  readonly prepare: (count: number) => void
  /** Does `count` pieces of work and returns a number that depends on all of them. */
  readonly work: (count: number) => number
  /** Slices are multiples of `step`, the number of pieces after which the kinds of work repeat. */
  readonly step: number
  /** The most pieces in a slice; a multiple of `step`. */
  readonly maxCount: number
}

export interface InterleaveOptions {
  readonly budgetMs: number
  readonly sliceMs: number
  readonly warmUpMs: number
  /** A contender that needs longer per piece is left out. */
  readonly maxPieceMs: number
  /** Name of the column for the time per piece, and the factor from nanoseconds to its unit. */
  readonly column: string
  readonly scale: number
  /** Name of the column for the time divided by that of the first lane, the baseline. */
  readonly ratio: string
  /** The contender by which later lanes are divided as well. */
  readonly ours?: string
}

export interface Interleaved {
  readonly rows: Rows
  readonly left_out: readonly string[]
}

/** A calibrated lane: its slice size, its timer, and the times of the rounds so far. */
interface Runner {
  readonly lane: Lane
  readonly slice: () => number
  readonly count: number
  readonly times: number[]
}

const MIN_ROUNDS = 7
const MAX_ROUNDS = 80

/**
 * Times all lanes in turns: one short slice each per round, in rotating order, so that other load
 * on the machine affects all lanes alike. The others are divided by the
 * first lane, the baseline.
 */
export function interleave(lanes: readonly Lane[], options: InterleaveOptions): Interleaved {
  const left_out: string[] = []
  const runners = lanes.flatMap((lane) => {
    const runner = calibrate(lane, options)
    if (typeof runner !== 'number') return [runner]
    const why = `one piece takes ${runner.toFixed(0)} ms, more than ${options.maxPieceMs} ms`
    left_out.push(`${lane.contender}: ${why}`)
    return []
  })
  const end = performance.now() + options.budgetMs
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (round >= MIN_ROUNDS && performance.now() > end) break
    for (const turn of runners.keys()) {
      const runner = runners[(turn + round) % runners.length]
      runner?.times.push(runner.slice() / runner.count)
    }
  }
  return { rows: rowsOf(runners, options), left_out }
}

/**
 * Warms up the lane and finds how many pieces fill a slice. Returns the milliseconds per piece when
 * the lane is too slow.
 */
function calibrate(lane: Lane, options: InterleaveOptions): Runner | number {
  const start = performance.now()
  let count = lane.step
  for (;;) {
    const took = createSlice(lane, count)() / 1e6
    if (took / count > options.maxPieceMs && performance.now() - start > 2 * options.maxPieceMs)
      return took / count
    const full = took >= options.sliceMs / 2 || count === lane.maxCount
    if (full && performance.now() - start > options.warmUpMs)
      return {
        lane,
        count,
        slice: createSlice(lane, count, took <= options.sliceMs * 2),
        times: [],
      }
    if (!full) count = Math.min(lane.maxCount, count * 2)
    else if (took > options.sliceMs * 2)
      count = Math.max(lane.step, Math.floor(count / 2 / lane.step) * lane.step)
  }
}

/**
 * Times one call of the lane's work in nanoseconds. With `settles` it does the same work untimed
 * just before, to refill the processor's caches: after a slow neighbour, `Map.get` would otherwise
 * be slow and every ratio to it too favourable.
 */
function createSlice(lane: Lane, count: number, settles = false): () => number {
  const bench = new Bench({
    iterations: 1,
    time: 0,
    warmup: false,
    throws: true,
    timestampProvider: 'hrtimeNow',
  })
  const checksum = { sum: 0 }
  const run = (): void => {
    checksum.sum += lane.work(count)
  }
  const beforeEach = (): void => {
    lane.prepare(count)
    if (!settles) return
    run()
    lane.prepare(count)
  }
  bench.add(lane.contender, run, { async: false, beforeEach })
  return () => {
    bench.reset() // otherwise a completed task repeats its first sample instead of running again
    const [task] = bench.runSync()
    if (task?.result.state !== 'completed' || Number.isNaN(checksum.sum))
      throw new Error(`\`${lane.contender}\` returned no result`)
    return task.result.latency.mean * 1e6
  }
}

function rowsOf(runners: readonly Runner[], options: InterleaveOptions): Rows {
  const { column, scale, ratio, ours } = options
  const baseline = runners[0]?.times ?? []
  const at = runners.findIndex(({ lane }) => lane.contender === ours)
  const oursTimes = runners[at]?.times ?? []
  const rows = runners.map(({ lane, times }, index): [string, Row] => [
    lane.contender,
    {
      [column]: quartilesOf(times.map((time) => time * scale)),
      ...(index === 0 ? {} : { [ratio]: quartilesOf(divide(times, baseline)) }),
      ...(at < 0 || index <= at ? {} : { 'x ours': quartilesOf(divide(times, oursTimes)) }),
    },
  ])
  return Object.fromEntries(rows)
}
