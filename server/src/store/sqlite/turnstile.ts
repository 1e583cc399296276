/** Lets one piece of work through at a time, in the order of arrival. */
export interface Turnstile {
  pass<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when everything that had arrived is through. */
  drained(): Promise<void>
}

export function createTurnstile(): Turnstile {
  let last: Promise<unknown> = Promise.resolve()
  return {
    pass(work) {
      const result = last.then(work)
      last = result.catch(() => undefined)
      return result
    },
    async drained() {
      await last
    },
  }
}
