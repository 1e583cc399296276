import { Bench } from 'tinybench'
import type { Figure, LeftOut, Spread, Unit } from '../case.ts'
import { quantile } from './quantile.ts'

/** Something to be timed in slices. */
export interface Lane {
  readonly contender: string
  /** Runs before every slice, outside of the time that counts. */
  readonly prepare: (count: number) => void
  /** Does `count` pieces of work and returns something that depends on all of them. */
  readonly work: (count: number) => number
  /** Slices are multiples of this: after so many pieces the kinds of work repeat. */
  readonly step: number
  /** The most pieces that fit in a slice; a multiple of `step`. */
  readonly maxCount: number
}

export interface InterleaveOptions {
  readonly budgetMs: number
  readonly sliceMs: number
  readonly warmUpMs: number
  /** A contender that needs longer for one piece is left out. */
  readonly maxPieceMs: number
  readonly unit: Unit
  /** From nanoseconds a piece to `unit`. */
  readonly scale: number
  /** The contender that later lanes are divided by as well, for `to_ours`. */
  readonly ours?: string
}

export interface Interleaved {
  readonly figures: readonly Figure[]
  readonly left_out: readonly LeftOut[]
}

/** What a slice's timing needs: its size, its timer, and the times of the rounds so far. */
interface Runner {
  readonly lane: Lane
  readonly slice: () => number
  readonly count: number
  readonly times: number[]
}

const MIN_ROUNDS = 7
const MAX_ROUNDS = 80

/**
 * Times all lanes in turns: one short slice each a round, in rotating order, so that whatever else
 * the machine does falls on all alike. The first lane is the limit that the others are divided by.
 */
export function interleave(lanes: readonly Lane[], options: InterleaveOptions): Interleaved {
  const left_out: LeftOut[] = []
  const runners = lanes.flatMap((lane) => {
    const runner = calibrate(lane, options)
    if (typeof runner !== 'number') return [runner]
    const why = `one piece takes ${runner.toFixed(0)} ms, more than ${options.maxPieceMs} ms`
    left_out.push({ contender: lane.contender, why })
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
  const limit = runners[0]?.times ?? []
  const at = runners.findIndex(({ lane }) => lane.contender === options.ours)
  const ours = runners[at]?.times ?? []
  const figures = runners.map((runner, index) => ({
    ...figureOf(runner, limit, options),
    to_ours: at >= 0 && index > at ? divide(runner.times, ours) : null,
  }))
  return { figures, left_out }
}

/** Warms the lane up and finds how many pieces fill a slice; a number means too slow. */
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
 * Times one call of the lane's work in nanoseconds. A lane that `settles` does the same amount
 * untimed just before: a slow neighbour leaves the processor's caches to itself, and measured, that
 * made `Map.get` beside 25,000 rules half as fast, and every ratio to it twice too kind.
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
    bench.reset() // a task that has completed is not run again, and repeats its first sample
    const [task] = bench.runSync()
    if (task?.result.state !== 'completed' || Number.isNaN(checksum.sum))
      throw new Error(`\`${lane.contender}\` gave no result`)
    return task.result.latency.mean * 1e6
  }
}

function figureOf(
  { lane, times }: Runner,
  limit: readonly number[],
  { unit, scale }: InterleaveOptions,
): Omit<Figure, 'to_ours'> {
  const { ratio, ...spread } = divide(times, limit)
  const value = quantile(times, 0.5) * scale
  return { contender: lane.contender, unit, value, ratio, spread, rounds: times.length }
}

/** Median and quartiles of the ratios of one round each. */
function divide(
  times: readonly number[],
  by: readonly number[],
): Spread & { readonly ratio: number } {
  const ratios = times.map((time, round) => time / (by[round] ?? Number.NaN))
  return {
    ratio: quantile(ratios, 0.5),
    q1: quantile(ratios, 0.25),
    q3: quantile(ratios, 0.75),
  }
}
