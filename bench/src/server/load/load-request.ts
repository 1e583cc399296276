/** What the parent asks of the process that makes load. */
export type LoadRequest =
  | {
      readonly kind: 'define'
      readonly set: string
      /** Whole HTTP/1.1 requests; `COUNTER` in one is replaced by a number of as many digits. */
      readonly requests: readonly string[]
    }
  | {
      /** Sends each request of a set once and keeps the same, made conditional, as `known`. */
      readonly kind: 'prime'
      readonly port: number
      readonly set: string
      readonly known: string
      readonly connections: number
      readonly timeoutMs: number
    }
  | {
      /** Goes round a set, from where it stopped the last time. */
      readonly kind: 'run'
      readonly port: number
      readonly set: string
      readonly connections: number
      readonly count: number
      /** Stops here, however many were sent. */
      readonly timeoutMs: number
    }
  | {
      /** Sends requests of a set at a fixed rate, each timed from the moment it was due. */
      readonly kind: 'pace'
      readonly port: number
      readonly set: string
      readonly perSecond: number
      readonly forMs: number
    }
  | {
      /** Keeps connections busy with a set, and opens again those that the server ends. */
      readonly kind: 'press'
      readonly port: number
      readonly set: string
      readonly connections: number
      readonly forMs: number
    }

export const COUNTER = '########'

export interface LoadReport {
  readonly completed: number
  readonly elapsedMs: number
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>
  /** Milliseconds from request to the end of its answer. */
  readonly p50Ms: number
  readonly p99Ms: number
}
