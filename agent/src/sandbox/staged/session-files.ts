import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, lstatSync, readFileSync, unlinkSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { z } from 'zod'
import { systemErrorCode } from '../../host/errors.ts'
import { unlessMissing } from '../view/disk.ts'
import { HostConflict, openHostTree } from './host-tree.ts'
import { journalOf, layersOf, recordOf, type StagedSession } from './staged-session.ts'

const run = promisify(execFile)

/** A directory of a workspace in which the temporary object may be. */
const journalLineSchema = z.strictObject({ workspace: z.int(), names: z.array(z.string()) })

/**
 * Removes the layers that only the sandbox needed, once its namespaces are gone. The directories
 * `lower` and `merged` were mount points there, so they are never removed with their content.
 */
export async function removeMounts(directory: string, session: StagedSession): Promise<void> {
  for (const index of session.workspaces.keys()) {
    const { lower, mask, merged, upper, work } = layersOf(directory, index)
    for (const point of [lower, merged]) await unlessGone(rmdir(point))
    for (const layer of [mask, work]) await removeTree(layer)
    // The command can close its workspace, and the owner can open it again.
    unlessMissing(() => chmodSync(upper, 0o700))
  }
}

/**
 * Removes a session with all its changes. The record goes first: the rest of a removal that was cut
 * off would tell of deletions that the command has not made.
 */
export async function removeSession(
  directory: string,
  session: StagedSession | null,
): Promise<void> {
  for (const index of session?.workspaces.keys() ?? []) {
    const { lower, merged } = layersOf(directory, index)
    for (const point of [lower, merged]) await unlessGone(rmdir(point))
  }
  await rm(recordOf(directory), { force: true })
  await removeTree(directory)
}

/** Depth and permissions of the tree are those that a command chose, so programs walk it. */
async function removeTree(path: string): Promise<void> {
  if (unlessMissing(() => lstatSync(path)) === undefined) return
  await run('chmod', ['-R', 'u+rwX', '--', path]).catch(() => null)
  await run('rm', ['-rf', '--one-file-system', '--', path])
}

async function unlessGone(removed: Promise<void>): Promise<void> {
  try {
    await removed
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error
  }
}

/** Returns a function that notes a directory before a temporary object comes into being there. */
export function openJournal(
  directory: string,
): (workspace: number, names: readonly string[]) => void {
  let last = ''
  return (workspace, names) => {
    const line = `${JSON.stringify({ workspace, names })}\n`
    if (line === last) return
    appendFileSync(journalOf(directory), line, { mode: 0o600 })
    last = line
  }
}

/** Removes the temporary object that a killed agent left, wherever it is. */
export async function clearJournal(directory: string, session: StagedSession): Promise<void> {
  for (const line of readLines(journalOf(directory))) {
    const parsed = parseLine(line)
    const workspace = parsed === null ? undefined : session.workspaces[parsed.workspace]
    if (parsed === null || workspace === undefined) continue
    try {
      const host = openHostTree(workspace)
      try {
        host.inParent([...parsed.names, session.temporary], (at, name) =>
          unlessMissing(() => unlinkSync(at(name))),
        )
      } finally {
        host.close()
      }
    } catch (error) {
      if (!(error instanceof HostConflict) && systemErrorCode(error) === null) throw error
    }
  }
  await rm(journalOf(directory), { force: true })
}

function readLines(path: string): readonly string[] {
  const text = unlessMissing(() => readFileSync(path, 'utf8')) ?? ''
  return text.split('\n').filter((line) => line !== '')
}

/** Null for a line that was cut. */
function parseLine(line: string): z.infer<typeof journalLineSchema> | null {
  try {
    return journalLineSchema.parse(JSON.parse(line))
  } catch {
    return null
  }
}
