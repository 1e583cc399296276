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

function cpuUsWithEnded(pid: number): number {
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

/**
 * See proc_pid_stat(5): the name may hold any character. From the third on: `utime` is number 14
 * there, then come `stime`, `cutime` and `cstime`.
 */
function statOf(pid: number): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Microseconds of processor time of the children of a process that have ended. */
export function cpuUsOfEnded(pid: number): number {
  const fields = statOf(pid)
  return (Number(fields[13]) + Number(fields[14])) * TICK_US
}

/** Resident bytes of a process, now and at their peak. */
export function rssOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
}

/** Bytes that a process has had written to storage so far; see proc_pid_io(5). */
export function writtenBytesOf(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}
