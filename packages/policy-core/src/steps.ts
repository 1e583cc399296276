/**
 * Work that can pause. It yields after each part of bounded length, so that its caller may do
 * something else in between, and returns the result. It reads no clock: when to pause is the
 * caller's to decide.
 */
export type Steps<T> = Generator<void, T>

/** How many items of a list one step takes. */
export const ITEMS_A_STEP = 128

/** Takes all steps at once. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
