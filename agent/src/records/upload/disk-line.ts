import { recordLineSchema, type RecordLine } from '@palisade/protocol'
import { hashLine } from '../record-chain.ts'

/** A line of the records on disk, with its place in the chain. */
export interface DiskLine {
  readonly boot: string
  readonly seq: number
  readonly previous: string
  readonly hash: string
  /** Null for a line of another version, whose place alone can be read. */
  readonly record: RecordLine | null
}

const BOOT = /^[\w-]{1,64}$/
const HASH = /^[0-9a-f]{64}$/

/** Null for a line without a place in the chain, which the server then sees as a gap. */
export function readDiskLine(bytes: Buffer): DiskLine | null {
  const json = parse(bytes)
  if (json === null) return null
  const { boot, seq, previous } = json
  if (typeof boot !== 'string' || !BOOT.test(boot)) return null
  if (typeof previous !== 'string' || !HASH.test(previous)) return null
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1) return null
  const record = recordLineSchema.safeParse(json).data ?? null
  return { boot, seq, previous, hash: hashLine(bytes), record }
}

function parse(bytes: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof json === 'object' && json !== null ? { ...json } : null
  } catch {
    return null
  }
}
