import { readFileSync, readdirSync } from 'node:fs'

/** Microseconds of processor time, user and system, of all threads of a process so far. */
export function cpuUsOf(pid: number): number {
  // `schedstat` counts in nanoseconds, `/proc/<pid>/stat` in hundredths of a second.
  const tasks = readdirSync(`/proc/${pid}/task`)
  const spentNs = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ', 1)[0]),
  )
  return spentNs.reduce((sum, ns) => sum + ns, 0) / 1000
}

/** Resident bytes of a process, now and at their peak. */
export function rssOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
}
