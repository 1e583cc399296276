import type { Steps } from '@palisade/policy-core'
import { closeSync, fstatSync } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import { openRegularFile } from '../view/regular-file.ts'
import { FileWindow, MAX_NAME_BYTES } from './file-window.ts'
import { BlockTable, readTail, type HashBytes } from './index-tail.ts'

/** A name that leads git below it: a submodule, or a directory of a sparse index. */
export interface IndexName {
  readonly kind: 'submodule' | 'tree' | 'other'
  /** Empty for an entry that has its name in the shared index. */
  readonly name: Buffer
}

/** `problem`: why the agent cannot tell the names, as the end of a sentence about the index. */
export interface ReadIndex {
  readonly problem: string | null
  /** The object name of the shared index; null without one. */
  readonly shared: string | null
}

const MAX_INDEX_BYTES = 1024 ** 3
const ENTRIES_A_STEP = 256
const HEADER_BYTES = 12
const MODE_AT = 24
const HASH_AT = 40
const IS_EXTENDED = 0x4000
const LENGTH = 0xfff
const KIND = 0o170000
const KINDS: ReadonlyMap<number, IndexName['kind']> = new Map([
  [0o160000, 'submodule'],
  [0o040000, 'tree'],
])
const UNREADABLE = { problem: 'is damaged, or in a form that git does not write', shared: null }

/**
 * Reads the names of an index in pieces; see gitformat-index(5). A form that git does not write is
 * a problem, because git could read it in another way. `onName` gets every name if `isAll`, and
 * those of submodules and trees otherwise.
 */
export function* readIndex(
  path: string,
  hash: HashBytes,
  onName: (name: IndexName) => void,
  isAll = false,
): Steps<ReadIndex> {
  let descriptor: number | null = null
  try {
    descriptor = openRegularFile(path)
    if (descriptor === null) return { problem: 'is no regular file', shared: null }
    const { size } = fstatSync(descriptor)
    if (size > MAX_INDEX_BYTES) return { problem: 'is larger than 1 GiB', shared: null }
    return (yield* readEntries(new FileWindow(descriptor, size), hash, onName, isAll)) ?? UNREADABLE
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    if (code === 'ENOENT') return { problem: null, shared: null }
    return { problem: code === 'ELOOP' ? 'is a link' : `cannot be read (${code})`, shared: null }
  } finally {
    if (descriptor !== null) closeSync(descriptor)
  }
}

function* readEntries(
  window: FileWindow,
  hash: HashBytes,
  onName: (name: IndexName) => void,
  isAll: boolean,
): Steps<ReadIndex | null> {
  const header = readHeader(window)
  const blocks = BlockTable.read(window, hash)
  if (header === null || blocks === null) return null
  const { version, count } = header
  const name = Buffer.alloc(MAX_NAME_BYTES)
  let [at, length] = [HEADER_BYTES, 0]
  for (let entry = 0; entry < count; entry += 1) {
    if (entry % ENTRIES_A_STEP === 0) yield
    const read = readEntry(window.at(at), { version, hash, name, length })
    if (read === null || !blocks.fits(at, read.kept)) return null
    at += read.bytes
    length = read.length
    const kind = KINDS.get(read.mode & KIND) ?? 'other'
    if (isAll || kind !== 'other') onName({ kind, name: Buffer.from(name.subarray(0, length)) })
  }
  const tail = blocks.isAtEnd(at) ? readTail(window, at, hash) : null
  return tail === null ? null : { problem: null, shared: tail.shared }
}

/** Null for a version that git does not read. */
function readHeader(window: FileWindow): { version: number; count: number } | null {
  const head = window.at(0)
  if (head.length < HEADER_BYTES || head.toString('latin1', 0, 4) !== 'DIRC') return null
  const version = head.readUInt32BE(4)
  return version < 2 || version > 4 ? null : { version, count: head.readUInt32BE(8) }
}

interface Entry {
  readonly mode: number
  /** Bytes of the entry, of its name, and of the beginning that the name shares. */
  readonly bytes: number
  readonly length: number
  readonly kept: number
}

/** Reads an entry. `name` holds the name of the former one, with its length, and gets the next. */
function readEntry(
  entry: Buffer,
  former: {
    readonly version: number
    readonly hash: number
    readonly name: Buffer
    readonly length: number
  },
): Entry | null {
  const { version, hash, name } = former
  const flagsAt = HASH_AT + hash
  if (entry.length < flagsAt + 4) return null
  const flags = entry.readUInt16BE(flagsAt)
  let at = flagsAt + ((flags & IS_EXTENDED) === 0 ? 2 : 4)
  let kept = 0
  if (version === 4) {
    const removed = readNumber(entry, at)
    if (removed === null || removed.value > former.length) return null
    kept = former.length - removed.value
    at = removed.end
  }
  const end = entry.indexOf(0, at)
  const length = kept + end - at
  // Git goes by the length of the flags.
  if (end < 0 || length > MAX_NAME_BYTES || Math.min(length, LENGTH) !== (flags & LENGTH))
    return null
  entry.copy(name, kept, at, end)
  // Before version 4 an entry is filled up with 1 to 8 zeros.
  const bytes = version === 4 ? end + 1 : ((end >> 3) + 1) * 8
  return { mode: entry.readUInt32BE(MODE_AT), bytes, length, kept }
}

/** A number of git's variable length; each continued byte adds one. */
function readNumber(entry: Buffer, from: number): { value: number; end: number } | null {
  let value = 0
  for (let at = from; at < Math.min(from + 4, entry.length); at += 1) {
    const byte = entry[at] ?? 0
    value = at === from ? byte & 127 : (value + 1) * 128 + (byte & 127)
    if (byte < 128) return { value, end: at + 1 }
  }
  return null
}
