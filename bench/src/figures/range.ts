/** A median, and the range in which the readings lie. */
export interface Range {
  readonly median: number
  /** Least reading, or the lower quartile of many. Absent for a single reading. */
  readonly low?: number
  /** Greatest reading, or the upper quartile of many. */
  readonly high?: number
}

/** Returns the value at the quantile `q` (0 to 1), or NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN
}

/** Median and extremes, for the few rounds of processes. */
export function rangeOf(values: readonly number[]): Range {
  return { median: quantile(values, 0.5), low: Math.min(...values), high: Math.max(...values) }
}

/** Median and quartiles, for many short slices. */
export function quartilesOf(values: readonly number[]): Range {
  return {
    median: quantile(values, 0.5),
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
  }
}

export function single(value: number): Range {
  return { median: value }
}

/** Divides within each round, because the speed of the machine changes between rounds. */
export function divide(values: readonly number[], by: readonly number[]): number[] {
  return values.map((value, round) => value / (by[round] ?? Number.NaN))
}
