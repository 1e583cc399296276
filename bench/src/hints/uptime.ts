/** Monotonic milliseconds. Unlike `performance.now`, the origin is the same in every thread. */
export function uptimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
