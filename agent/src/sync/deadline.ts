/** What is left of the time for one exchange. */
export interface Deadline {
  /** Aborts with the signal that it was made from, or when the time is over. */
  readonly signal: AbortSignal
  isOver(): boolean
  /** To be called once the exchange has ended, in whatever way. */
  lift(): void
}

/**
 * `AbortSignal.any` with `AbortSignal.timeout` would be the same, and cost a request a tenth of the processor
 * time that it takes: both are made for signals that nobody lets go.
 */
export function createDeadline(stop: AbortSignal, timeoutMs: number): Deadline {
  const controller = new AbortController()
  let isOver = false
  const onStop = (): void => controller.abort(stop.reason)
  // A process that has nothing else to do need not wait for it.
  const timer = setTimeout(() => {
    isOver = true
    controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'))
  }, timeoutMs).unref()
  if (stop.aborted) onStop()
  else stop.addEventListener('abort', onStop)
  return {
    signal: controller.signal,
    isOver: () => isOver,
    lift() {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    },
  }
}
