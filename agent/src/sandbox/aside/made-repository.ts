import type { Steps } from '@palisade/policy-core'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { realPathOrNull, statusOrNull, type ViewDisk } from '../view/disk.ts'
import { readBeginning } from '../view/regular-file.ts'
import { GIT_ATTRIBUTES, GIT_PARTS, HOOKS } from '../view/guarded-names.ts'
import { COMMON_DIRECTORY, isRepository, marksIn } from '../view/repository.ts'
import { hasInvalidBytes } from '../view/view-refusal.ts'

type Disk = Pick<ViewDisk, 'list' | 'listInSteps' | 'status' | 'realPath'>

const MAX_LEAD_BYTES = 4096
const SAMPLE = /\.sample$/
const LEAD = /^gitdir: (.+)$/s
const WORKING_TREE = /^(.+)\/worktrees\/[^/]+$/

/**
 * The paths below a repository that decide which programs git runs, in it and in the repositories
 * of its submodules. Hooks that are samples only are left out, and so are the files `commondir` of
 * working trees that lead to a directory of which `isHarmless` holds.
 */
export function* partsOfRepository(
  repository: string,
  isHarmless: (directory: string) => boolean,
  disk: Disk,
): Steps<readonly string[]> {
  const parts: string[] = []
  const pending = [repository]
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    yield
    if (statusOrNull(disk, directory)?.kind !== 'directory') continue
    const { entries } = yield* disk.listInSteps(directory)
    if (directory === repository || isRepository(marksIn(entries)))
      parts.push(...partsIn(directory, isHarmless, disk))
    for (const entry of entries) if (entry.isDirectory()) pending.push(join(directory, entry.name))
  }
  return parts
}

function partsIn(
  directory: string,
  isHarmless: (directory: string) => boolean,
  disk: Disk,
): readonly string[] {
  return [...GIT_PARTS, GIT_ATTRIBUTES]
    .filter((part) => part !== COMMON_DIRECTORY || !isHarmless(commonDirectory(directory, disk)))
    .map((part) => join(directory, part))
    .filter((path) => statusOrNull(disk, path) !== null && !isSamples(path, disk))
}

function isSamples(path: string, disk: Disk): boolean {
  if (basename(path) !== HOOKS || statusOrNull(disk, path)?.kind !== 'directory') return false
  const { entries, invalid } = disk.list(path)
  return invalid.length === 0 && entries.every(({ name }) => SAMPLE.test(name))
}

/**
 * The repository whose settings git obeys behind a file or link `.git`. An empty text for a path
 * that leads nowhere, or to a working tree that its repository does not keep itself.
 */
export function endOfLead(path: string, disk: Disk): string {
  const status = statusOrNull(disk, path)
  if (status?.kind === 'link') return realPathOrNull(disk, path) ?? ''
  const named = LEAD.exec(readLead(path))?.[1]
  const real = named === undefined ? '' : followFrom(dirname(path), named, disk)
  const repository = WORKING_TREE.exec(real)?.[1]
  if (repository === undefined) return real
  return commonDirectory(real, disk) === repository ? repository : ''
}

/**
 * The directory whose settings git reads for a directory with a file `commondir`. An empty text for
 * one without it.
 */
export function commonDirectory(directory: string, disk: Pick<ViewDisk, 'realPath'>): string {
  return followFrom(directory, readLead(join(directory, COMMON_DIRECTORY)), disk)
}

/** The real path, as the kernel finds it: `..` leaves the directory to which a link leads. */
function followFrom(directory: string, path: string, disk: Pick<ViewDisk, 'realPath'>): string {
  return realPathOrNull(disk, isAbsolute(path) ? path : `${directory}/${path}`) ?? ''
}

/**
 * Such a file has one line, of which git takes each byte but the ends of lines. Text that no path
 * has stands for a file that git does not read, or that is not UTF-8.
 */
function readLead(path: string): string {
  const bytes = readBeginning(path, MAX_LEAD_BYTES + 1)
  if (bytes === null || bytes.length > MAX_LEAD_BYTES || hasInvalidBytes(bytes)) return '\0'
  return bytes.toString('utf8').replace(/[\r\n]+$/, '')
}
