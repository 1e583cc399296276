/** How large the evidence of one reading is. */
export interface ReplayExtent {
  readonly records: number
  /** Different requests, of all users together. */
  readonly tuples: number
  readonly users: number
  readonly teamSets: number
}

const WHOLE = { tuples: 200_000, users: 1_000, teamSets: 50 } as const

export const FULL: readonly ReplayExtent[] = [
  { ...WHOLE, records: 200_000 },
  { ...WHOLE, records: 1_000_000 },
  { ...WHOLE, records: 3_000_000 },
  { ...WHOLE, records: 10_000_000 },
]
/** Checks that every part works. */
export const QUICK: readonly ReplayExtent[] = [
  { records: 20_000, tuples: 5_000, users: 50, teamSets: 10 },
  { records: 50_000, tuples: 5_000, users: 50, teamSets: 10 },
]
/** The number of records that the goal is about. */
export const GOAL_RECORDS = 10_000_000
