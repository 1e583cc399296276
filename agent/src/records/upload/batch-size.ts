/** How much a batch may have; less after the server has refused one. */
export interface BatchSize {
  read(): {
    /** Lines on disk that it covers. */
    readonly maxCovered: number
    /** Whether its only record is left out, because the server refuses it. */
    readonly isWithheld: boolean
  }
  /**
   * The server has refused a batch that covers this many lines. The line at fault is found by
   * halves, and only counted in the end: it must not hold up the others for ever.
   */
  shrink(covered: number): void
  grow(): void
}

export function createBatchSize(most: number): BatchSize {
  let maxCovered = most
  let isWithheld = false
  return {
    read: () => ({ maxCovered, isWithheld }),
    shrink(covered) {
      isWithheld = covered <= 1
      maxCovered = Math.max(1, Math.floor(covered / 2))
    },
    grow() {
      isWithheld = false
      maxCovered = Math.min(maxCovered * 2, most)
    },
  }
}
