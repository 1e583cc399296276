import { randomBytes, randomUUID } from 'node:crypto'

/** Where time and chance come from; fixed ones in tests. */
export interface Sources {
  readonly now: () => Date
  /** Milliseconds since some instant, by a clock that cannot be set. */
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Uint8Array
  /** A new lower-case UUID. */
  readonly newId: () => string
}

export function systemSources(): Sources {
  return {
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: (bytes) => randomBytes(bytes),
    newId: () => randomUUID(),
  }
}
