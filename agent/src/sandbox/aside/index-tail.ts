import { MAX_NAME_BYTES, type FileWindow } from './file-window.ts'

/** Bytes of an object name: SHA-1 or SHA-256. */
export type HashBytes = 20 | 32

/** Git knows some ten extensions. */
const MAX_EXTENSIONS = 64
const HEADER_BYTES = 8
/** Extensions with the end of the entries, and with blocks of them that threads read. */
const END = 'EOIE'
const BLOCKS = 'IEOT'
const SHARED = 'link'
const BLOCK_BYTES = 8
const BLOCKS_VERSION = 1

interface Tail {
  /** The object name of the shared index; null without one. */
  readonly shared: string | null
  /** Position of the extension with blocks of entries, and its length. */
  readonly blocks: { readonly at: number; readonly bytes: number } | null
}

/** Reads the extensions of an index from the position. Null when they do not fill the rest. */
export function readTail(window: FileWindow, from: number, hash: HashBytes): Tail | null {
  let tail: Tail = { shared: null, blocks: null }
  let at = from
  const end = window.size - hash
  for (let count = 0; at < end; count += 1) {
    const extension = window.at(at)
    if (count === MAX_EXTENSIONS || extension.length < HEADER_BYTES + hash) return null
    const name = extension.toString('latin1', 0, 4)
    const bytes = extension.readUInt32BE(4)
    at += HEADER_BYTES
    if (name === BLOCKS && tail.blocks === null) tail = { ...tail, blocks: { at, bytes } }
    if (name === SHARED)
      tail = { ...tail, shared: extension.toString('hex', HEADER_BYTES, HEADER_BYTES + hash) }
    at += bytes
  }
  return at === end ? tail : null
}

interface Block {
  readonly at: number
  readonly entries: number
}

/**
 * The end of the entries and the blocks of which git reads them, as extensions tell. A command
 * could name others than those that a reader of the whole index finds.
 */
export class BlockTable {
  readonly #end: number | null
  readonly #blocks: Block[]
  readonly #hasBlocks: boolean
  #rest = 0

  private constructor(end: number | null, blocks: readonly Block[]) {
    this.#end = end
    this.#blocks = [...blocks]
    this.#hasBlocks = blocks.length > 0
  }

  /** Null when an extension is damaged. */
  static read(window: FileWindow, hash: HashBytes): BlockTable | null {
    const at = window.size - hash - HEADER_BYTES - 4 - hash
    const extension = at > 0 ? window.at(at) : Buffer.alloc(0)
    if (extension.toString('latin1', 0, 4) !== END) return new BlockTable(null, [])
    const end = extension.readUInt32BE(HEADER_BYTES)
    const table = readTail(window, end, hash)?.blocks
    if (table === undefined) return null
    const blocks = table === null ? [] : readBlocks(window.at(table.at), table.bytes)
    return blocks === null ? null : new BlockTable(end, blocks)
  }

  /** Whether the next entry, at the position, agrees with the blocks. */
  fits(at: number, kept: number): boolean {
    if (!this.#hasBlocks) return true
    if (this.#rest === 0) {
      const block = this.#blocks.shift()
      // The name of the first entry of a block is whole.
      if (block === undefined || block.at !== at || kept > 0) return false
      this.#rest = block.entries
    }
    this.#rest -= 1
    return true
  }

  /** Whether the entries end at the position. */
  isAtEnd(at: number): boolean {
    return this.#rest === 0 && this.#blocks.length === 0 && at === (this.#end ?? at)
  }
}

function readBlocks(table: Buffer, bytes: number): readonly Block[] | null {
  const isWhole = bytes <= Math.min(MAX_NAME_BYTES, table.length) && bytes % BLOCK_BYTES === 4
  if (!isWhole || table.readUInt32BE(0) !== BLOCKS_VERSION) return null
  const blocks: Block[] = []
  for (let at = 4; at < bytes; at += BLOCK_BYTES)
    blocks.push({ at: table.readUInt32BE(at), entries: table.readUInt32BE(at + 4) })
  return blocks.every(({ entries }) => entries > 0) ? blocks : null
}
