/**
 * Monotonic milliseconds, the same in every thread of a machine, which `performance.now` is not.
 */
export function uptimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
