/** Evidence whose records grow from one reading to the next. */
export interface ReplayExtent {
  /** Different requests, of all users together. */
  readonly tuples: number
  readonly users: number
  readonly teamSets: number
  /** Ascending multiples of `tuples`. */
  readonly records: readonly number[]
}

export const FULL: ReplayExtent = {
  tuples: 200_000,
  users: 1_000,
  teamSets: 50,
  records: [200_000, 1_000_000, 3_000_000, 10_000_000],
}
/** Checks that every part works. */
export const QUICK: ReplayExtent = {
  tuples: 5_000,
  users: 50,
  teamSets: 10,
  records: [5_000, 50_000],
}
/** The number of records that the goal is about. */
export const GOAL_RECORDS = 10_000_000
