import { closeSync, constants, openSync, statSync, type Stats } from 'node:fs'
import { absent } from '../open-mode.ts'
import { StoreError } from '../store-error.ts'

/** Throws unless there is a file, which is not empty: SQLite would make a database of it. */
export function requireFile(path: string): void {
  const stat = statOf(path)
  if (stat === undefined || (stat.isFile() && stat.size === 0)) throw absent(path)
  if (!stat.isFile())
    throw new StoreError('ERR_STORE_UNAVAILABLE', `\`${path}\` is not an ordinary file`)
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

/** SQLite would create the file with the umask's mode; its -wal and -shm files copy this one's. */
export function createPrivateFile(path: string): void {
  try {
    const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants
    // Not blocking: a named pipe in this place would hang the process, deaf to signals.
    closeSync(openSync(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, 0o600))
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

function cannotOpen(path: string, cause: unknown): StoreError {
  return new StoreError('ERR_STORE_UNAVAILABLE', `cannot open database \`${path}\``, { cause })
}
