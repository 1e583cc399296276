/** Pauses between failed attempts; all times in milliseconds. */
export interface BackOff {
  /** Bound of the first pause; doubles with each further failure. */
  readonly firstMs: number
  readonly capMs: number
  /** 0 ≤ x < 1: full jitter, so that machines that fail together do not retry together. */
  readonly random: () => number
}

/**
 * A random pause below the bound. `failures` is the number of consecutive failures before the
 * current one.
 */
export function backOffMs(failures: number, { firstMs, capMs, random }: BackOff): number {
  return random() * Math.min(firstMs * 2 ** failures, capMs)
}
