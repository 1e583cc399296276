import { constants, type Stats } from 'node:fs'
import { lstat, open, readdir, readFile, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { systemErrorCode } from '../host/errors.ts'
import { preparePrivateDirectory } from '../host/config/private-directory.ts'
import { writeDurably } from '../host/durable-file.ts'

/** A file of records: `00000001.jsonl`, the oldest first. */
export interface Segment {
  readonly number: number
  readonly name: string
  readonly bytes: number
  /** Time of the last write, in epoch milliseconds. */
  readonly writtenMs: number
  /** False for a link, a folder, a FIFO and the like, and for a file of another user. */
  readonly isOurs: boolean
}

/** The file that is being written. */
export interface SegmentFile {
  /** Rejects with the system's error; a part may be written then. */
  append(text: string): Promise<void>
  truncate(bytes: number): Promise<void>
  /** False once the file was deleted. */
  isLinked(): Promise<boolean>
  close(): Promise<void>
}

export interface ReadableSegment {
  readonly bytes: number
  /** Fewer bytes only at the end. */
  read(position: number, length: number): Promise<Buffer>
  close(): Promise<void>
}

/**
 * The directory of the records. Methods reject with the system's error, `prepare` also with
 * `AgentError`.
 */
export interface RecordDisk {
  /** Makes the directory if it is missing, and closes it to other users. */
  prepare(): Promise<void>
  /** In the order of their numbers; empty without a directory, and for a link in its place. */
  list(): Promise<readonly Segment[]>
  /** Creates a new file, mode 0600; never opens an existing one. */
  create(number: number): Promise<SegmentFile>
  /** Rejects for another kind of file, without waiting for its writer. */
  open(segment: Pick<Segment, 'name'>): Promise<ReadableSegment>
  remove(segment: Pick<Segment, 'name'>): Promise<void>
  /**
   * The `previous` of the oldest line that is kept since older files were deleted; null before the
   * first deletion, and for a file that cannot be read.
   */
  readStart(): Promise<string | null>
  /** Call before the deletion. */
  writeStart(previous: string): Promise<void>
}

const NAME = /^(\d{8,15})\.jsonl$/
const DIGITS = 8
const START = 'start.json'

export function createRecordDisk(directory: string): RecordDisk {
  const pathOf = (name: string): string => join(directory, name)
  return {
    prepare: () => preparePrivateDirectory(directory),

    async list() {
      const status = await lstat(directory).catch((error: unknown) => {
        if (systemErrorCode(error) === 'ENOENT') return null
        throw error
      })
      if (status?.isDirectory() !== true) return []
      const names = await readdir(directory)
      const segments: Segment[] = []
      for (const name of names) {
        const number = NAME.exec(name)?.[1]
        if (number === undefined) continue
        const found = await lstat(pathOf(name)).catch(() => null)
        if (found !== null) segments.push({ number: Number(number), name, ...describe(found) })
      }
      return segments.toSorted((a, b) => a.number - b.number)
    },

    async create(number) {
      const path = pathOf(`${String(number).padStart(DIGITS, '0')}.jsonl`)
      const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW } = constants
      const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0o600)
      let bytes = 0
      return {
        async append(text) {
          await file.appendFile(text)
          bytes += Buffer.byteLength(text)
        },
        truncate: (length) => file.truncate(length),
        isLinked: async () => (await file.stat()).nlink > 0,
        async close() {
          await file.close()
          // A full disk may leave an empty file at each start.
          if (bytes === 0) await unlink(path)
        },
      }
    },

    async open({ name }) {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
      const file = await open(pathOf(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        const found = await file.stat()
        if (!isOurs(found)) throw new Error(`\`${name}\` is not a file of this user`)
        return {
          bytes: found.size,
          read: (position, length) => readFrom(file, position, length),
          close: () => file.close(),
        }
      } catch (error) {
        await file.close()
        throw error
      }
    },

    remove: ({ name }) => unlink(pathOf(name)),

    async readStart() {
      const text = await readFile(pathOf(START), 'utf8').catch(() => '')
      return /^\{"previous":"([0-9a-f]{64})"\}\n$/.exec(text)?.[1] ?? null
    },

    writeStart: (previous) => writeDurably(pathOf(START), `${JSON.stringify({ previous })}\n`),
  }
}

function describe(found: Stats): Pick<Segment, 'bytes' | 'writtenMs' | 'isOurs'> {
  return { bytes: found.size, writtenMs: found.mtimeMs, isOurs: isOurs(found) }
}

function isOurs(found: Stats): boolean {
  return found.isFile() && found.uid === process.geteuid?.()
}

async function readFrom(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}
