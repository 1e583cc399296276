import { execFile } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LAUNCH_FILES } from './trampoline.ts'

const run = promisify(execFile)
const FIFOS = ['gate', 'info', 'sync', 'end', 'input', 'output', 'errors'] as const
type Fifo = (typeof FIFOS)[number]
type File = Exclude<keyof typeof LAUNCH_FILES, Fifo>

const ENDS = { both: constants.O_RDWR, read: constants.O_RDONLY } as const

/** The directory of one launch, mode 0700, with the files by which its processes meet. */
export interface LaunchDirectory {
  readonly path: string
  /** Writes a file of mode 0600. */
  write(name: File, content: string | Uint8Array): Promise<void>
  /**
   * Opens a FIFO without waiting for its other end, and returns the descriptor. With `both`, the
   * FIFO always has a writer; with `read`, it ends with the last one.
   */
  openFifo(name: Fifo, ends: keyof typeof ENDS): number
  remove(): Promise<void>
}

/** Makes the directory and its FIFOs. Rejects with the error of the system. */
export async function createLaunchDirectory(path: string): Promise<LaunchDirectory> {
  await mkdir(path, { mode: 0o700 })
  const pathOf = (name: Fifo | File): string => join(path, LAUNCH_FILES[name])
  await run('mkfifo', ['-m', '600', '--', ...FIFOS.map(pathOf)])
  return {
    path,
    write: (name, content) => writeFile(pathOf(name), content, { mode: 0o600, flag: 'wx' }),
    openFifo: (name, ends) => openSync(pathOf(name), constants.O_NONBLOCK | ENDS[ends]),
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
