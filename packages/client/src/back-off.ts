/** How long to wait between attempts that fail; all times in milliseconds. */
export interface BackOff {
  /** Bound of the first pause; doubles with each further failure. */
  readonly firstMs: number
  readonly capMs: number
  /** 0 ≤ x < 1: full jitter, so that machines which failed together do not come back together. */
  readonly random: () => number
}

/**
 * A random pause below the bound; `failures` counts those in a row before the one that has just
 * come.
 */
export function backOffMs(failures: number, { firstMs, capMs, random }: BackOff): number {
  return random() * Math.min(firstMs * 2 ** failures, capMs)
}
