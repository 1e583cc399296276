import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CliError, usageError } from './cli-error.ts'
import { EXIT } from './exit-code.ts'
import type { Io } from './io.ts'
import { describeSystemError } from './system-error.ts'

/** Resolves a file argument to an absolute path. Throws exit 2 if it cannot name a file. */
export function resolveFile(io: Pick<Io, 'cwd'>, file: string): string {
  if (file === '') throw usageError('a file name is empty')
  if (file.includes('\0')) throw unreadable(file, 'a file name cannot hold a NUL character')
  return resolve(io.cwd, file)
}

/**
 * Reads a UTF-8 file of at most `maxBytes` bytes. Throws exit 2 with one line that names the file
 * as given.
 */
export async function readTextFile(
  io: Pick<Io, 'cwd'>,
  file: string,
  maxBytes: number,
): Promise<string> {
  const bytes = await readBounded(io, file, maxBytes)
  if (bytes.byteLength > maxBytes)
    throw unreadable(file, `is larger than ${maxBytes / 1024 / 1024} MiB`)
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw unreadable(file, 'begins with a byte order mark; save it as UTF-8 without one')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw unreadable(file, 'is not UTF-8 text', error)
  }
}

/** Creates the error for an unusable input: exit 2. */
export function unreadable(file: string, why: string, cause?: unknown): CliError {
  return new CliError('ERR_INPUT_UNREADABLE', EXIT.usage, `${file}: ${why}`, { cause })
}

/** Creates the error for a failed write: exit 78, because the file's path is configuration. */
export function notWritten(path: string, error: unknown): CliError {
  return new CliError(
    'ERR_FILE_NOT_WRITTEN',
    EXIT.configuration,
    `${path}: ${describeSystemError(error)}`,
    { cause: error },
  )
}

/** Reads at most one byte beyond the limit. The size of a pipe or a growing file is unreliable. */
async function readBounded(io: Pick<Io, 'cwd'>, file: string, maxBytes: number): Promise<Buffer> {
  const path = resolveFile(io, file)
  try {
    await using handle = await open(path, 'r')
    const chunks: Buffer[] = []
    let total = 0
    while (total <= maxBytes) {
      const chunk = Buffer.allocUnsafe(Math.min(1024 * 1024, maxBytes + 1 - total))
      const { bytesRead } = await handle.read(chunk, 0, chunk.length)
      if (bytesRead === 0) break
      chunks.push(chunk.subarray(0, bytesRead))
      total += bytesRead
    }
    return Buffer.concat(chunks)
  } catch (error) {
    throw unreadable(file, describeSystemError(error), error)
  }
}
