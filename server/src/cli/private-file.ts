import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { CommandFailure } from '../platform/command-failure.ts'

/** Makes a file of mode 0600 that was not there, on disk when it returns. */
export function writePrivateFile(path: string, text: string): void {
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const why = isThere ? 'the file exists already; name another one' : 'the file cannot be created'
    throw new CommandFailure('refused', `cannot write \`${path}\`: ${why}`)
  }
}

export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new CommandFailure('usage', `cannot read \`${path}\``)
  }
}
