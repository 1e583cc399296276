import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { statusOrNull, type ViewDisk } from '../view/disk.ts'

const INDEX = /^(?:index|sharedindex\.[0-9a-f]+)$/
/** The agent reads an index at once. */
const MAX_INDEX_BYTES = 32 * 1024 ** 2

/** Whether the name in the directory of a repository is a part of its index. */
export function isIndex(name: string): boolean {
  return INDEX.test(name)
}

/**
 * The directories that the index of a repository `.git` names as submodules. `git status` enters
 * each, and obeys the settings of the repository there. `unknown` for a huge index.
 */
export function submodulesOf(
  repository: string,
  disk: Pick<ViewDisk, 'list' | 'status'>,
): readonly string[] | 'unknown' {
  if (statusOrNull(disk, repository)?.kind !== 'directory') return []
  const submodules: string[] = []
  for (const { name } of disk.list(repository).entries.filter((entry) => isIndex(entry.name))) {
    const path = join(repository, name)
    const status = statusOrNull(disk, path)
    if (status?.kind !== 'file') continue
    if (status.size > MAX_INDEX_BYTES) return 'unknown'
    for (const link of gitlinksOf(readFileSync(path)))
      submodules.push(join(dirname(repository), link))
  }
  return submodules
}

/** Bytes of an object name: SHA-1 or SHA-256. The content of an index fits one of them only. */
const HASHES = [20, 32] as const
const HEADER_BYTES = 12
const MODE_AT = 24
const HASH_AT = 40
const GITLINK = 0o160000
const IS_EXTENDED = 0x4000

/**
 * The paths of an index that are gitlinks; see gitformat-index(5). Empty for one that git cannot
 * read either.
 */
export function gitlinksOf(index: Buffer): readonly string[] {
  if (index.length < HEADER_BYTES || index.toString('latin1', 0, 4) !== 'DIRC') return []
  for (const hash of HASHES) {
    const links = readEntries(index, hash)
    if (links !== null) return links
  }
  return []
}

function readEntries(index: Buffer, hash: number): readonly string[] | null {
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)]
  const links: string[] = []
  let [at, former] = [HEADER_BYTES, Buffer.alloc(0)]
  for (let entry = 0; entry < count; entry += 1) {
    const begin = at
    at += HASH_AT + hash
    if (at + 4 > index.length) return null
    at += version >= 3 && (index.readUInt16BE(at) & IS_EXTENDED) !== 0 ? 4 : 2
    let kept = Buffer.alloc(0)
    if (version === 4) {
      const removed = readNumber(index, at)
      if (removed === null || removed.value > former.length) return null
      kept = former.subarray(0, former.length - removed.value)
      at = removed.end
    }
    const end = index.indexOf(0, at)
    if (end < 0) return null
    former = Buffer.concat([kept, index.subarray(at, end)])
    if (index.readUInt32BE(begin + MODE_AT) === GITLINK) links.push(former.toString('utf8'))
    // Before version 4 an entry is filled up with 1 to 8 zeros.
    at = version === 4 ? end + 1 : begin + (((end - begin) >> 3) + 1) * 8
  }
  return endsWithExtensions(index, at, hash) ? links : null
}

/** A number of git's variable length; each continued byte adds one. */
function readNumber(index: Buffer, from: number): { value: number; end: number } | null {
  let value = 0
  for (let at = from; at < Math.min(from + 4, index.length); at += 1) {
    const byte = index[at] ?? 0
    value = at === from ? byte & 127 : (value + 1) * 128 + (byte & 127)
    if (byte < 128) return { value, end: at + 1 }
  }
  return null
}

function endsWithExtensions(index: Buffer, from: number, hash: number): boolean {
  let at = from
  const end = index.length - hash
  while (at + 8 <= end) at += 8 + index.readUInt32BE(at + 4)
  return at === end
}
