import { readFileSync, readdirSync, readlinkSync } from 'node:fs'

/** Children of a process, oldest first (Linux). */
export function childrenOf(pid: number): number[] {
  const text = readOr(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), '')
  return text.trim().split(' ').filter(Boolean).map(Number)
}

/** Processes whose working directory is `folder` or was below it (Linux). */
export function processesIn(folder: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids
    .filter((pid) => readOr(() => readlinkSync(`/proc/${pid}/cwd`), '').startsWith(folder))
    .map(Number)
}

/** Whether a process still runs; one that its parent has not awaited does not (Linux). */
export function isRunning(pid: number): boolean {
  const text = readOr(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '')
  return text !== '' && !/\) [ZX] /.test(text)
}

/** A process may end after it was listed and before it is read. */
function readOr(read: () => string, otherwise: string): string {
  try {
    return read()
  } catch {
    return otherwise
  }
}
