import type { ChainFault, LogVerification } from '@palisade/protocol'
import { hashLine } from './record-chain.ts'
import type { RecordDisk } from './record-disk.ts'
import { readOldestFirst } from './record-reader.ts'

const MAX_FAULTS = 100

/** The members of a line that make the chain; null for another line. */
interface Link {
  readonly boot: string
  readonly seq: number
  readonly previous: string
  readonly lost: number
}

/**
 * Checks the chain from the oldest kept line to the newest. Older lines were deleted, so the first
 * line is taken as it is; compare `head` with one noted elsewhere to detect that the newest lines
 * are missing. `head` is the last line of the agent that writes now, or null while it has none.
 */
export async function verifyRecords(
  disk: Pick<RecordDisk, 'list' | 'open'>,
  head: string | null = null,
): Promise<LogVerification> {
  const faults: ChainFault[] = []
  const files = new Set<string>()
  let [lines, lost, number] = [0, 0, 0]
  let [hash, before]: [string | null, Link | null] = [null, null]
  let isHeadFound = head === null

  for await (const { file, bytes } of readOldestFirst(disk)) {
    number = files.has(file) ? number + 1 : 1
    files.add(file)
    const fault = (kind: ChainFault['fault']): void => {
      if (faults.length < MAX_FAULTS) faults.push({ file, line: number, fault: kind })
    }
    if (bytes === null) {
      fault('unreadable')
      continue
    }
    lines += 1
    const link = parseLink(bytes)
    const found = findFault(link, hash, before)
    if (found !== null) fault(found)
    lost += link?.lost ?? 0
    hash = hashLine(bytes)
    before = link
    if (hash === head) isHeadFound = true
  }
  if (!isHeadFound)
    faults.push({ file: [...files].at(-1) ?? '', line: Math.max(number, 1), fault: 'wrong_head' })
  return { intact: faults.length === 0, lines, files: files.size, lost, faults, head: hash }
}

/** `hash` and `before` are those of the line before; null without one. */
function findFault(
  link: Link | null,
  hash: string | null,
  before: Link | null,
): ChainFault['fault'] | null {
  if (link === null) return 'malformed'
  if (hash !== null && link.previous !== hash) return 'broken_chain'
  return before !== null && !follows(link, before) ? 'wrong_sequence' : null
}

/** A start of the agent begins at 1. */
function follows({ boot, seq }: Link, before: Link): boolean {
  return seq === (boot === before.boot ? before.seq + 1 : 1)
}

/** A full check of each member would take seconds for the largest records. */
function parseLink(bytes: Buffer): Link | null {
  let line: unknown
  try {
    line = JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
  if (typeof line !== 'object' || line === null) return null
  const { boot, seq, previous, lost, count } = line as Readonly<Record<string, unknown>>
  if (typeof boot !== 'string' || typeof seq !== 'number' || typeof previous !== 'string')
    return null
  if (typeof lost === 'number') return { boot, seq, previous, lost }
  return typeof count === 'number' ? { boot, seq, previous, lost: 0 } : null
}
