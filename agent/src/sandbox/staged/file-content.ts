import type { Steps } from '@palisade/policy-core'
import { closeSync, fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import { openRegularFile } from '../view/regular-file.ts'
import { HostConflict, type HostTree } from './host-tree.ts'
import type { LayerAttributes } from './layer-attributes.ts'

const CHUNK_BYTES = 256 * 1024

/** Opens a regular file. Throws the error of the system, also `ELOOP` for a symbolic link. */
export function openFile(path: string): number {
  const descriptor = openRegularFile(path)
  if (descriptor === null) throw new HostConflict('it is no regular file now')
  return descriptor
}

/**
 * Whether a staged file and the file of the host have the same bytes. Returns a sentence for people
 * when one of them cannot be read.
 */
export function* isSameContent(
  source: string,
  host: HostTree,
  names: readonly string[],
): Steps<boolean | string> {
  const open: number[] = []
  try {
    const staged = openFile(source)
    open.push(staged)
    const own = host.inParent(names, (at, name) => openFile(at(name)))
    if (own === null) return false
    open.push(own)
    const [a, b] = [chunkFor(staged), chunkFor(staged)]
    for (;;) {
      const length = readFully(staged, a)
      const other = readFully(own, b)
      if (length !== other || a.compare(b, 0, other, 0, length) !== 0) return false
      if (length === 0) return true
      yield
    }
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    return `it cannot be read (${code})`
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

/** Copies the bytes of one descriptor to another that is empty. Holes stay holes. */
export function* copyContent(
  from: number,
  to: number,
  dataFrom: LayerAttributes['dataFrom'],
): Steps<void> {
  const chunk = chunkFor(from)
  for (let data = dataFrom(from, 0); data !== null; data = dataFrom(from, data.end))
    for (let at = data.start; at < data.end;) {
      const length = readFully(from, chunk.subarray(0, data.end - at), at)
      if (length === 0) break
      for (let written = 0; written < length;)
        written += writeSync(to, chunk, written, length - written, at + written)
      at += length
      yield
    }
  ftruncateSync(to, fstatSync(from).size)
}

/** Most files are small, and a large buffer for each costs more than their copy. */
function chunkFor(descriptor: number): Buffer {
  return Buffer.allocUnsafe(Math.min(CHUNK_BYTES, fstatSync(descriptor).size + 1))
}

/** Reads from the position, or without one where the last reading has ended. */
function readFully(descriptor: number, buffer: Buffer, position: number | null = null): number {
  let length = 0
  for (let read = 1; read > 0 && length < buffer.length; length += read) {
    const at = position === null ? null : position + length
    read = readSync(descriptor, buffer, length, buffer.length - length, at)
  }
  return length
}
