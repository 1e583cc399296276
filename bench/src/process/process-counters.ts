import { readFileSync, readdirSync } from 'node:fs'

const TICK_US = 10_000

/** Microseconds of processor time, user and system, of all threads of a process so far. */
export function cpuUsOf(pid: number): number {
  // `stat` counts in hundredths of a second, but ended threads too: some proxies have one for each
  // connection. `schedstat` counts the present threads in nanoseconds.
  return Math.max(cpuUsOfThreads(pid), cpuUsWithEnded(pid))
}

function cpuUsOfThreads(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const spentNs = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ', 1)[0]),
  )
  return spentNs.reduce((sum, ns) => sum + ns, 0) / 1000
}

/** See proc_pid_stat(5): the name may hold any character. `utime` is number 14, then `stime`. */
function cpuUsWithEnded(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

/** Resident bytes of a process, now and at their peak. */
export function rssOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
}
