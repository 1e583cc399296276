import { readPrivateFile } from '@palisade/client'
import { mkdir, readdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'
import type { KeptTime } from '../../policy/state/trusted-clock.ts'
import { isLeftover, syncDirectory, writeDurably } from '../../host/durable-file.ts'
import { quarantine, quarantineUnsafeDirectory } from './quarantine.ts'
import { keptMeterSchema, type KeptMeter } from '../trust/grant-ledger.ts'
import { sha256 } from '../trust/signed-metadata.ts'
import { MAX_DOCUMENT_BYTES } from '../trust/verify-view.ts'
import {
  formatState,
  isAhead,
  keptTimeSchema,
  parseState,
  seal,
  unseal,
  type TrustedState,
} from '../trust/trusted-state.ts'

const MAX_STATE_BYTES = 4 * 1024 * 1024
const COPIES = ['state.json', 'state.previous.json'] as const
const DOCUMENTS = 'documents'
const TIME = 'time.json'
const METER = 'grant.json'
const MAX_KEPT_BYTES = 1024

export interface StateProblem {
  readonly file: string
  readonly message: string
}

export interface ReadState {
  /** The state of the copy that is ahead; null without a valid copy. */
  readonly state: TrustedState | null
  /** A renamed directory or copy that cannot be used, or null. */
  readonly problem: StateProblem | null
}

/** The trusted state on disk: two copies of the state, documents by their hashes, and the time. */
export interface StateStore {
  read(nowMs: number): Promise<ReadState>
  /**
   * Resolves when both copies are durable, so that a lost copy forgets no fact. A crash at any
   * moment leaves at least one valid copy. Rejects, before it writes, a state too large to be read
   * again.
   */
  write(state: TrustedState): Promise<void>
  readonly time: KeptFile<KeptTime>
  /** The meter of the grant in force. */
  readonly meter: KeptFile<KeptMeter>
  /** Null if missing, or if the content does not match the hash. */
  readDocument(hash: string): Promise<string | null>
  writeDocument(hash: string, body: Uint8Array): Promise<void>
  /** Removes all other documents. */
  keepDocuments(hashes: ReadonlySet<string>): Promise<void>
  /** Renames the copy that was read; returns its new path. */
  setAside(nowMs: number): Promise<string>
  quarantineDocument(hash: string, nowMs: number): Promise<string>
}

/** A small value in one file. */
export interface KeptFile<T> {
  /** Null if missing or damaged. */
  read(): Promise<T | null>
  write(value: T): Promise<void>
}

export function createStateStore(directory: string): StateStore {
  const documents = join(directory, DOCUMENTS)
  const [newest, previous] = COPIES.map((name) => join(directory, name)) as [string, string]
  let inUse = newest

  const documentFile = (hash: string): string => join(documents, `${hash}.json`)

  /** Reads one copy; renames a damaged one. */
  async function readCopy(file: string, nowMs: number): Promise<ReadState> {
    const copy = await readPrivateFile(file, MAX_STATE_BYTES)
    const state = copy.ok ? parseState(copy.text) : null
    if (state !== null || (!copy.ok && copy.code === 'ENOENT')) return { state, problem: null }
    const message = `the kept state ${copy.ok ? 'is damaged' : copy.message}`
    return { state, problem: { file: await quarantine(file, nowMs), message } }
  }

  return {
    async read(nowMs) {
      const unsafe =
        (await quarantineUnsafeDirectory(directory, nowMs)) ??
        (await quarantineUnsafeDirectory(documents, nowMs))
      for (const each of [directory, documents]) await removeLeftovers(each)
      const one = await readCopy(newest, nowMs)
      const other = await readCopy(previous, nowMs)
      const isOther =
        other.state !== null && (one.state === null || isAhead(other.state, one.state))
      inUse = isOther ? previous : newest
      const problem = unsafe ?? one.problem ?? other.problem
      return { state: (isOther ? other : one).state, problem }
    },

    async write(state) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const text = formatState(state)
      if (Buffer.byteLength(text) > MAX_STATE_BYTES)
        throw new Error(`the state of this machine would be larger than ${MAX_STATE_BYTES} bytes`)
      const former = await readPrivateFile(previous, MAX_STATE_BYTES)
      await writeDurably(previous, text)
      try {
        await writeDurably(newest, text)
        inUse = newest
      } catch (error) {
        // The previous copy is now ahead, and the next start would read it.
        const undone = former.ok ? writeDurably(previous, former.text) : unlink(previous)
        // A failure here must not hide why the write failed. A removal needs no space on disk.
        await undone.catch(() => unlink(previous)).catch(() => {})
        throw error
      }
    },

    time: createKeptFile(join(directory, TIME), keptTimeSchema),
    meter: createKeptFile(join(directory, METER), keptMeterSchema),

    async readDocument(hash) {
      const found = await readPrivateFile(documentFile(hash), MAX_DOCUMENT_BYTES)
      return found.ok && sha256(found.text) === hash ? found.text : null
    },

    async writeDocument(hash, body) {
      await mkdir(documents, { recursive: true, mode: 0o700 })
      await writeDurably(documentFile(hash), body)
    },

    async keepDocuments(hashes) {
      for (const name of await readdir(documents).catch(() => []))
        if (!hashes.has(name.slice(0, -'.json'.length))) await unlink(join(documents, name))
      await syncDirectory(documents)
    },

    setAside: (nowMs) => quarantine(inUse, nowMs),
    quarantineDocument: (hash, nowMs) => quarantine(documentFile(hash), nowMs),
  }
}

function createKeptFile<T>(file: string, schema: z.ZodType<T>): KeptFile<T> {
  return {
    async read() {
      const found = await readPrivateFile(file, MAX_KEPT_BYTES)
      return found.ok ? unseal(found.text, schema) : null
    },
    write: (value) => writeDurably(file, seal(value)),
  }
}

/** Leftovers only take space, so a failed removal does not prevent a start. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => []))
    if (isLeftover(name)) await rm(join(directory, name), { recursive: true }).catch(() => {})
}
