/**
 * Processor time of this thread so far, in milliseconds. On a loaded machine work waits, and the
 * caller does not pay for the wait. Linux counts in ticks of up to 4 ms, so a short turn may be
 * charged too much or too little; over many turns the sum is right.
 */
export function threadTimeMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
