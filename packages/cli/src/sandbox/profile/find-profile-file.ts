import { constants, lstatSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { describeSystemError } from '../../runtime/system-error.ts'
import { repositoryDirectories } from '../repository-directories.ts'

export const PROFILE_FILE = '.palisade.yaml'
const MAX_BYTES = 64 * 1024
const WRITABLE_BY_ALL = 0o002

export type ProfileFile =
  | { readonly kind: 'found'; readonly path: string; readonly text: string }
  /** No directory that was searched has one; `searched` is the last. */
  | { readonly kind: 'missing'; readonly searched: string }
  | { readonly kind: 'refused'; readonly path: string; readonly why: string }

/**
 * Reads the nearest profile file from `directory` upwards, up to the directory of the repository,
 * which has `.git`. Outside a repository only `directory` is searched: a directory above belongs to
 * no project, such as /tmp. A file that another user could have written is refused.
 */
export async function findProfileFile(directory: string, uid: number): Promise<ProfileFile> {
  const searched = repositoryDirectories(directory) ?? [directory]
  const found = searched.map((each) => join(each, PROFILE_FILE)).find(exists)
  if (found === undefined) return { kind: 'missing', searched: searched.at(-1) ?? directory }
  try {
    const read = await readOwn(found, uid)
    return { path: found, ...read }
  } catch (error) {
    return { kind: 'refused', path: found, why: describeSystemError(error) }
  }
}

type Read =
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'refused'; readonly why: string }

/** The file is judged by its open descriptor. A FIFO is not waited for. */
async function readOwn(path: string, uid: number): Promise<Read> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  await using handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  const status = await handle.stat()
  if (!status.isFile()) return refused('is not a regular file')
  if (status.uid !== uid) return refused('belongs to another user; copy it to a file of your own')
  if ((status.mode & WRITABLE_BY_ALL) !== 0)
    return refused(`can be written by every user; run \`chmod o-w ${PROFILE_FILE}\``)
  const buffer = Buffer.alloc(MAX_BYTES + 1)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
  if (bytesRead > MAX_BYTES) return refused(`is larger than ${MAX_BYTES / 1024} KiB`)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead))
    return { kind: 'found', text }
  } catch {
    return refused('is not UTF-8 text')
  }
}

function refused(why: string): Read {
  return { kind: 'refused', why }
}

/** Also a dangling link, which is refused by name. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
