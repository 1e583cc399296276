import { constants } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { systemErrorCode } from '../../host/errors.ts'

/** An object that the agent is about to make, or has made, in a directory of the host. */
export interface PlaceholderRecord {
  /** Random; the name that the object has first. */
  readonly draft: string
  readonly directory: string
  readonly name: string
  readonly kind: 'file' | 'directory'
  /** Null until the object exists. */
  readonly object: {
    readonly device: number
    readonly inode: number
    /** Time of creation in milliseconds; 0 on file systems that keep none. */
    readonly bornMs: number
  } | null
}

/**
 * A file of JSON lines that is on the disk before the change that it describes, so that a killed
 * agent finds its placeholders again.
 */
export interface PlaceholderJournal {
  /** The records that have no later `drop`. A line that cannot be read is skipped. */
  read(): Promise<readonly PlaceholderRecord[]>
  /** Replaces earlier records of the same drafts. One call waits once for the disk. */
  put(records: readonly PlaceholderRecord[]): Promise<void>
  drop(drafts: readonly string[]): Promise<void>
  /** Empties the file, when no placeholder is left. */
  clear(): Promise<void>
}

export function createPlaceholderJournal(path: string): PlaceholderJournal {
  const append = async (lines: readonly object[], isKept: boolean): Promise<void> => {
    if (lines.length === 0) return
    const file = await open(path, APPEND, 0o600)
    try {
      // A full disk may have cut the last line, which must not take the first one of these along.
      await file.appendFile(`\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`)
      if (isKept) await file.sync()
    } finally {
      await file.close()
    }
  }
  return {
    async read() {
      const records = new Map<string, PlaceholderRecord>()
      for (const line of (await readText(path)).split('\n')) {
        const entry = parseLine(line)
        if (typeof entry === 'string') records.delete(entry)
        else if (entry !== null) records.set(entry.draft, entry)
      }
      return [...records.values()]
    },
    put: (records) => append(records, true),
    // A record of an object that is gone is harmless, so these do not wait for the disk.
    drop: (drafts) =>
      append(
        drafts.map((dropped) => ({ dropped })),
        false,
      ),
    async clear() {
      await writeFile(`${path}.new`, '', { mode: 0o600 })
      await rename(`${path}.new`, path)
    },
  }
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return ''
    throw error
  }
}

const DRAFT = /^\.palisade-[0-9a-f]{32}$/

/** The draft of a dropped record, or a record; null for a line that was cut. */
function parseLine(line: string): PlaceholderRecord | string | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  if ('dropped' in value) return typeof value.dropped === 'string' ? value.dropped : null
  return isRecord(value) ? value : null
}

function isRecord(value: object): value is PlaceholderRecord {
  const { draft, directory, name, kind, object } = value as Partial<Record<string, unknown>>
  return (
    typeof draft === 'string' &&
    DRAFT.test(draft) &&
    typeof directory === 'string' &&
    directory.startsWith('/') &&
    typeof name === 'string' &&
    !name.includes('/') &&
    (kind === 'file' || kind === 'directory') &&
    (object === null || isObject(object))
  )
}

function isObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'device' in value &&
    'inode' in value &&
    'bornMs' in value &&
    typeof value.bornMs === 'number' &&
    Number.isInteger(value.device) &&
    Number.isInteger(value.inode)
  )
}
