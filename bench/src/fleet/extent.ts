/** How long each part of a run takes, in milliseconds. */
export interface Extent {
  readonly agents: number
  /** Agents among them that run the whole synchronizer, on a disk. */
  readonly whole: number
  /** Those that fetch all that a change brings, the whole ones among them. */
  readonly fetching: number
  /** All agents come into being, each at its own phase. */
  readonly rampMs: number
  readonly steadyMs: number
  /** After the change of a policy. */
  readonly changeMs: number
  readonly outageMs: number
  readonly backMs: number
}

const MINUTE_MS = 60_000
/** The agent's: `PALISADE_SYNC_SCHEDULE`, every five minutes. */
export const PERIOD_MS = 5 * MINUTE_MS
export const SCHEDULE = '*/5 * * * *'
const WHOLE_AGENTS = 100
const FETCHING_SHARE = 0.02
export const DEFAULT_AGENTS = 100_000

/** Of a whole run. */
export const DEFAULT_MINUTES = 28
const PARTS = { rampMs: 5, steadyMs: 0.5, changeMs: 5.5, outageMs: 10, backMs: 7 } as const

/**
 * Shares `minutes` out as a whole run does. Only a whole one lets every agent have its turn in each
 * part: the timetable is the agent's own, and has a period of five minutes.
 */
export function planFleet(agents: number, minutes: number): Extent {
  const part = (name: keyof typeof PARTS): number =>
    Math.round((PARTS[name] / DEFAULT_MINUTES) * minutes * MINUTE_MS)
  return {
    agents,
    whole: Math.min(WHOLE_AGENTS, agents),
    fetching: Math.max(Math.min(WHOLE_AGENTS, agents), Math.ceil(agents * FETCHING_SHARE)),
    rampMs: part('rampMs'),
    steadyMs: part('steadyMs'),
    changeMs: part('changeMs'),
    outageMs: part('outageMs'),
    backMs: part('backMs'),
  }
}

/** Whether the agent at that place is one of `count` that lie evenly among all. */
export function isOneOf(count: number, index: number, agents: number): boolean {
  return index % Math.floor(agents / count) === 0
}
