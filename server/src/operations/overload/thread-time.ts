/**
 * Processor time of this thread so far, in milliseconds. A loaded machine makes work wait, and a
 * caller does not pay for that. Linux counts in ticks of up to 4 ms: one short turn may be charged
 * too much or nothing, and many are charged what they took.
 */
export function threadTimeMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
