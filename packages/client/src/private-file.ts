import { constants, type Stats } from 'node:fs'
import { lstat, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

export type PrivateFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: string; readonly message: string }

/** Refuses malformed UTF-8 instead of repairing it. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/**
 * Reads a file that only this user (or root) can have written or read. The file is regular, has at
 * most `maxBytes`, is closed to group and world, and its path does not end in a symbolic link.
 * Other users must not be able to replace it in its directory. `code` is the system's (`ENOENT`) or
 * `UNSAFE`. The checks use the open file, so that it cannot be replaced between check and read.
 */
export async function readPrivateFile(path: string, maxBytes: number): Promise<PrivateFile> {
  let file: FileHandle
  try {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = systemErrorCode(error) ?? 'UNKNOWN'
    return { ok: false, code, message: describeOpenError(code) }
  }
  try {
    const problem =
      privacyProblem(await file.stat(), maxBytes) ?? directoryProblem(await lstat(dirname(path)))
    if (problem !== null) return { ok: false, code: 'UNSAFE', message: problem }
    const text = decodeUtf8(await file.readFile())
    if (text === null) return { ok: false, code: 'UNSAFE', message: 'is not UTF-8 text' }
    return { ok: true, text }
  } catch (error) {
    return { ok: false, code: systemErrorCode(error) ?? 'UNKNOWN', message: 'cannot be read' }
  } finally {
    await file.close()
  }
}

function privacyProblem(found: Stats, maxBytes: number): string | null {
  if (!found.isFile()) return 'is not a regular file'
  const user = process.geteuid?.()
  if (user !== undefined && found.uid !== user && found.uid !== 0) return 'belongs to another user'
  if ((found.mode & 0o077) !== 0) return 'is open to other users; run `chmod 600` on it'
  if (found.size > maxBytes) return `is larger than ${maxBytes} bytes`
  return null
}

function directoryProblem(found: Stats): string | null {
  if (!found.isDirectory()) return 'is in a directory that is a symbolic link; name that itself'
  const user = process.geteuid?.()
  if (user !== undefined && found.uid !== user && found.uid !== 0)
    return 'is in a directory of another user'
  // Directories with the sticky bit are refused too: any user could create the file first.
  if ((found.mode & 0o022) !== 0)
    return 'is in a directory that others may write to; move it to one of mode 700'
  return null
}

function systemErrorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

function describeOpenError(code: string): string {
  if (code === 'ENOENT') return 'does not exist'
  if (code === 'ELOOP') return 'is a symbolic link; name the file itself'
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be read by this user'
  return `cannot be opened (${code})`
}
