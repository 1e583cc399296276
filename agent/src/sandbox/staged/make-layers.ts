import { execFile } from 'node:child_process'
import { chmodSync, linkSync, lstatSync, mkdirSync, utimesSync } from 'node:fs'
import { mkdir, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { unlessMissing } from '../view/disk.ts'
import type { RestrictedPath } from '../view/path-restriction.ts'
import { isWithin, restOf } from '../view/mount-table.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import { layersOf, writeSession, type StagedSession } from './staged-session.ts'

const run = promisify(execFile)

/** Denied names of one sandbox. They share one inode, of which a file system limits the links. */
const MAX_WHITEOUTS = 20_000
/** Bytes that the changes find free at least. */
const LEAST_FREE_BYTES = 256 * 1024 ** 2
const WHITEOUT = 'whiteout'

/**
 * Makes the directories of a session: its record, and for each workspace the layers of an overlay.
 * `hidden` are the names that no layer below may show. Rejects with `ViewRefusal`.
 */
export async function makeLayers(
  directory: string,
  session: StagedSession,
  hidden: readonly Pick<RestrictedPath, 'path'>[],
): Promise<void> {
  await mkdir(directory, { mode: 0o700 })
  await requireSpace(directory)
  await writeSession(directory, session)
  if (hidden.length > MAX_WHITEOUTS)
    throw new ViewRefusal(
      `policy denies ${hidden.length} single names in the workspaces, and at most ` +
        `${MAX_WHITEOUTS} can be hidden; ask an editor of the policy to deny their directories`,
    )
  const whiteout = join(directory, WHITEOUT)
  await makeWhiteout(whiteout)
  for (const [index, workspace] of session.workspaces.entries()) {
    const layers = layersOf(directory, index)
    mkdirSync(join(directory, String(index)), { mode: 0o700 })
    for (const layer of Object.values(layers)) mkdirSync(layer, { mode: 0o700 })
    const host = lstatSync(workspace.path)
    // The topmost layer decides the mode of the directory.
    for (const layer of [layers.mask, layers.upper]) chmodSync(layer, host.mode & 0o777)
    const inside = hidden.filter(({ path }) => isWithin(path, workspace.path))
    hideNames(inside, workspace.path, layers.mask, whiteout)
  }
}

async function requireSpace(directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (bavail * bsize < LEAST_FREE_BYTES)
    throw new ViewRefusal(
      `the disk of ${quotePath(dirname(directory))} has no room for the changes of a strict ` +
        'sandbox; free some space, or discard kept changes with `palisade staged discard`',
    )
}

/** The kernel lets every user make this one device, which stands for a missing name. */
async function makeWhiteout(path: string): Promise<void> {
  try {
    await run('mknod', ['-m', '000', '--', path, 'c', '0', '0'])
  } catch (error) {
    throw new ViewRefusal(
      'a strict sandbox cannot hide names here: the kernel or the file system of the agent ' +
        'permits no whiteouts; run `palisade doctor`',
      error,
    )
  }
}

/** Mirrors the directories above each name, and puts a whiteout in its place. */
function hideNames(
  hidden: readonly Pick<RestrictedPath, 'path'>[],
  workspace: string,
  mask: string,
  whiteout: string,
): void {
  const made = new Map<string, string>()
  const mirror = (path: string): string => {
    if (path === workspace) return mask
    const known = made.get(path)
    if (known !== undefined) return known
    mirror(dirname(path))
    const own = join(mask, restOf(path, workspace))
    mkdirSync(own, { mode: 0o700, recursive: true })
    made.set(path, own)
    return own
  }
  const names = new Set(hidden.map(({ path }) => path))
  for (const path of names) {
    if (isBelowAny(path, names, workspace)) continue
    mirror(dirname(path))
    linkSync(whiteout, join(mask, restOf(path, workspace)))
  }
  // Parents last, because a new entry changes the time of its directory.
  for (const [path, own] of [...made].toReversed()) copyTraits(path, own)
}

function isBelowAny(path: string, names: ReadonlySet<string>, workspace: string): boolean {
  for (let above = dirname(path); above.length > workspace.length; above = dirname(above))
    if (names.has(above)) return true
  return false
}

function copyTraits(from: string, to: string): void {
  const host = unlessMissing(() => lstatSync(from))
  if (host === undefined) return
  chmodSync(to, host.mode & 0o777)
  utimesSync(to, host.atime, host.mtime)
}
