import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates the directory that is the temporary one of all tests of a run. Other users may pass
 * through it: some tests start programs as `nobody`.
 */
export function createRunDirectory(): string {
  // The kernel names processes and mounts by the real path.
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'palisade-tests-'))
  chmodSync(directory, 0o1777)
  return directory
}

/** Removes all that a run may have left: processes, mounts and its directory. */
export function removeRun(directory: string): void {
  // A process may start another one while the list is read.
  for (let round = 0; round < 10 && endProcesses(directory); round += 1);
  for (const mount of mountsBelow(directory)) unmount(mount)
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

/** Kills each process that names the directory. Returns whether there was one. */
function endProcesses(directory: string): boolean {
  const pids = processIds().filter((pid) => pid !== process.pid && namesDirectory(pid, directory))
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  return pids.length > 0
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return [] // no Linux
  }
}

/** By its working directory, command line or environment. */
function namesDirectory(pid: number, directory: string): boolean {
  const read = [
    () => readlinkSync(`/proc/${pid}/cwd`),
    () => readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    () => readFileSync(`/proc/${pid}/environ`, 'utf8'),
  ]
  return read.some((source) => {
    try {
      return source().includes(directory)
    } catch {
      return false // ended, or another user's
    }
  })
}

function unmount(path: string): void {
  try {
    execFileSync('umount', ['--lazy', path], { stdio: 'ignore' })
  } catch {
    // Not root, or no such program: what is mounted stays, and removing the directory says so.
  }
}

/** The innermost mounts first. */
function mountsBelow(directory: string): string[] {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => readEscapes(line.split(' ')[4] ?? ''))
      .filter((path) => path.startsWith(`${directory}/`))
      .toReversed()
  } catch {
    return []
  }
}

/** Reads the octal escapes of proc_pid_mountinfo(5). */
function readEscapes(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}
