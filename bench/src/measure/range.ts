import { quantile } from './quantile.ts'

/** Median and range over the rounds. */
export interface Range {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function rangeOf(values: readonly number[]): Range {
  return {
    median: quantile(values, 0.5),
    least: Math.min(...values),
    most: Math.max(...values),
  }
}
