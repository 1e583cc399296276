/**
 * Work that can pause. It yields after each part of bounded length and returns the result. It reads
 * no clock: the caller decides when to pause.
 */
export type Steps<T> = Generator<void, T>

/** Number of list items per step. */
export const ITEMS_A_STEP = 128

/** Runs all steps without a pause. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
