import { readFileSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { systemErrorCode } from '../../host/errors.ts'

/** A workspace whose changes are kept apart until they are copied out. */
const stagedWorkspaceSchema = z.strictObject({
  path: z.string().startsWith('/'),
  access: z.enum(['ro', 'rw']),
  device: z.int(),
  inode: z.int(),
  /** Other paths of the same directory, through bind mounts. */
  aliases: z.array(z.string().startsWith('/')),
})
export type StagedWorkspace = z.infer<typeof stagedWorkspaceSchema>

const stagedSessionSchema = z.strictObject({
  version: z.literal(1),
  id: z.string().regex(/^[0-9a-z]{1,32}$/),
  /** Wall time, in milliseconds. An object of the host that changed later is a conflict. */
  started_ms: z.number(),
  /** The name of the one temporary object in a directory of the host. */
  temporary: z.string().regex(/^\.palisade-[0-9a-f]{32}$/),
  workspaces: z.array(stagedWorkspaceSchema).min(1),
  /** Paths that are guarded beside the guarded names. */
  guarded: z.array(z.string().startsWith('/')).optional(),
})
/** The record of one strict sandbox, in the directory of its layers. */
export type StagedSession = z.infer<typeof stagedSessionSchema>

/** A workspace and its upper layer. */
export interface StagedLayer {
  readonly path: string
  readonly upper: string
}

const RECORD = 'session.json'
const JOURNAL = 'applying.jsonl'
const REFUSED_MARK = 'refused'

/** Paths of the layers of one workspace. */
export function layersOf(directory: string, index: number) {
  const at = (name: string): string => join(directory, String(index), name)
  return {
    /** Whiteouts of the denied names. */
    mask: at('mask'),
    /** The workspace itself, in the namespace of the sandbox alone. */
    lower: at('lower'),
    /** The changes of the command. */
    upper: at('upper'),
    work: at('work'),
    /** The view of the command. */
    merged: at('merged'),
  }
}

export function recordOf(directory: string): string {
  return join(directory, RECORD)
}

export function journalOf(directory: string): string {
  return join(directory, JOURNAL)
}

/** A file that exists while policy refuses all that is left of the changes. */
export function refusedMarkOf(directory: string): string {
  return join(directory, REFUSED_MARK)
}

export async function writeSession(directory: string, session: StagedSession): Promise<void> {
  await writeFile(recordOf(directory), JSON.stringify(session), { mode: 0o600, flag: 'wx' })
}

/** Null without a complete record, as a killed agent may leave it. */
export function readSession(directory: string): StagedSession | null {
  let text: string
  try {
    text = readFileSync(recordOf(directory), 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  }
  try {
    return stagedSessionSchema.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** Ids of the sessions on disk, complete or not. */
export async function listSessionIds(root: string): Promise<readonly string[]> {
  try {
    const names = await readdir(root)
    return names.filter((name) => /^[0-9a-z]{1,32}$/.test(name))
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return []
    throw error
  }
}
