import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'

/** A command may put any object in the place of a file, and a FIFO would wait for its other end. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Opens a regular file for reading. Returns null for an object of another kind. Throws the error of
 * the system, also `ELOOP` for a symbolic link.
 */
export function openRegularFile(path: string): number | null {
  const descriptor = openSync(path, READ)
  if (fstatSync(descriptor).isFile()) return descriptor
  closeSync(descriptor)
  return null
}

/** The first bytes of a regular file; null if it cannot be read. */
export function readBeginning(path: string, maxBytes: number): Buffer | null {
  let descriptor: number | null = null
  try {
    descriptor = openRegularFile(path)
    if (descriptor === null) return null
    const bytes = Buffer.alloc(maxBytes)
    return bytes.subarray(0, readSync(descriptor, bytes))
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  } finally {
    if (descriptor !== null) closeSync(descriptor)
  }
}
