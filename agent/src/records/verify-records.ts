import { FIRST_PREVIOUS, type ChainFault, type LogVerification } from '@palisade/protocol'
import { hashLine } from './record-chain.ts'
import type { RecordDisk } from './record-disk.ts'
import { readOldestFirst } from './record-reader.ts'

const MAX_FAULTS = 100

/** The members of a line that make the chain. */
export interface ChainLink {
  readonly boot: string
  readonly seq: number
  readonly previous: string
  readonly lost: number
}

/**
 * Checks the chain from the oldest kept line to the newest. It begins at the line that the agent
 * noted when it deleted older ones, or else at the first line ever. Compare `head` with one noted
 * elsewhere to detect that the newest lines are missing. `head` is the last line of the agent that
 * writes now, or null while it has none.
 */
export async function verifyRecords(
  disk: Pick<RecordDisk, 'list' | 'open' | 'readStart'>,
  head: string | null = null,
): Promise<LogVerification> {
  const faults: ChainFault[] = await findStartFault(disk)
  const files = new Set<string>()
  let [lines, lost, number] = [0, 0, 0]
  let [hash, before]: [string | null, ChainLink | null] = [null, null]
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

/** The oldest line, if others before it are missing that the agent has not deleted. */
async function findStartFault(
  disk: Pick<RecordDisk, 'list' | 'open' | 'readStart'>,
): Promise<ChainFault[]> {
  const start = (await disk.readStart()) ?? FIRST_PREVIOUS
  let oldest: ChainFault | null = null
  for await (const { file, bytes } of readOldestFirst(disk)) {
    if (bytes === null) continue
    // A crash may have left older files, which were to be deleted after the note.
    if (parseLink(bytes)?.previous === start) return []
    oldest ??= { file, line: 1, fault: 'missing_start' }
  }
  return oldest === null ? [] : [oldest]
}

/** `hash` and `before` are those of the line before; null without one. */
function findFault(
  link: ChainLink | null,
  hash: string | null,
  before: ChainLink | null,
): ChainFault['fault'] | null {
  if (link === null) return 'malformed'
  if (hash !== null && link.previous !== hash) return 'broken_chain'
  return before !== null && !follows(link, before) ? 'wrong_sequence' : null
}

/** A start of the agent begins at 1. */
function follows({ boot, seq }: ChainLink, before: ChainLink): boolean {
  return seq === (boot === before.boot ? before.seq + 1 : 1)
}

/**
 * Null for a line that is no record. A full check of each member would take seconds for the largest
 * records.
 */
export function parseLink(bytes: Buffer): ChainLink | null {
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
