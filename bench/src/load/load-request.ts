/** A request to the process that generates load. */
export type LoadRequest =
  | {
      readonly kind: 'define'
      readonly set: string
      /**
       * Complete HTTP/1.1 requests. `COUNTER` in a request is replaced by a number of as many
       * digits.
       */
      readonly requests: readonly string[]
    }
  | {
      /**
       * Sends each request of a set once. Stores the set `known`, whose requests carry the returned
       * entity tags.
       */
      readonly kind: 'prime'
      readonly port: number
      readonly set: string
      readonly known: string
      readonly connections: number
    }
  | {
      /**
       * Keeps connections busy with a set, from where the last run stopped, until `count` requests
       * or the time are over. Status 0 means that the connection ended without an answer.
       */
      readonly kind: 'run'
      readonly port: number
      readonly set: string
      readonly connections: number
      readonly count?: number
      readonly forMs: number
    }
  | {
      /** Sends requests of a set at a fixed rate, each timed from its scheduled moment. */
      readonly kind: 'pace'
      readonly port: number
      readonly set: string
      readonly perSecond: number
      readonly forMs: number
    }

export const COUNTER = '########'

export interface LoadReport {
  readonly completed: number
  readonly elapsedMs: number
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Milliseconds from the request to the end of its answer. */
  readonly p50Ms: number
  readonly p99Ms: number
}
