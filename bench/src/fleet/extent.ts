/** Size of a run. Durations are in milliseconds. */
export interface Extent {
  readonly agents: number
  /** Agents that run the complete synchronizer with a store on disk. */
  readonly whole: number
  /** Agents that fetch everything that a change publishes, including `whole`. */
  readonly fetching: number
  /** The time in which all agents start, each at its own phase. */
  readonly rampMs: number
  readonly steadyMs: number
  /** The time between the policy change and the outage. */
  readonly changeMs: number
  readonly outageMs: number
  readonly backMs: number
}

const MINUTE_MS = 60_000
/** The agent's default `PALISADE_SYNC_SCHEDULE`: every five minutes. */
export const PERIOD_MS = 5 * MINUTE_MS
export const SCHEDULE = '*/5 * * * *'
const WHOLE_AGENTS = 100
const FETCHING_SHARE = 0.02
export const DEFAULT_AGENTS = 100_000

/** Duration of a full run. */
export const DEFAULT_MINUTES = 28
const PARTS = { rampMs: 5, steadyMs: 0.5, changeMs: 5.5, outageMs: 10, backMs: 7 } as const

/**
 * Divides `minutes` among the parts as in a full run. Only a full run gives every agent a poll in
 * each part, because the agents poll every five minutes.
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

/** Whether the agent at `index` is one of about `count` agents that are spread evenly over all. */
export function isOneOf(count: number, index: number, agents: number): boolean {
  return index % Math.floor(agents / count) === 0
}
