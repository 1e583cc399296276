import { randomBytes, randomUUID } from 'node:crypto'

/** Where time and chance come from; fixed ones in tests. */
export interface Sources {
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  /** A new lower-case UUID. */
  readonly newId: () => string
}

export function systemSources(): Sources {
  return { now: () => new Date(), random: (bytes) => randomBytes(bytes), newId: () => randomUUID() }
}
