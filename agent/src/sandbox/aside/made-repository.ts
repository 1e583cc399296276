import type { Steps } from '@palisade/policy-core'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { realPathOrNull, statusOrNull, type ViewDisk } from '../view/disk.ts'
import { GIT_ATTRIBUTES, GIT_PARTS, HOOKS } from '../view/guarded-names.ts'
import { COMMON_DIRECTORY, isRepository } from '../view/repository.ts'

type Disk = Pick<ViewDisk, 'list' | 'status' | 'realPath'>

const MAX_LEAD_BYTES = 4096
const SAMPLE = /\.sample$/
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
    const { entries } = disk.list(directory)
    const names = new Set(entries.map(({ name }) => name))
    if (directory === repository || isRepository(names))
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
  const text = readLead(path, disk).replace(/^gitdir:/, '')
  const real = realPathOrNull(disk, resolve(dirname(path), text.trim())) ?? ''
  const repository = WORKING_TREE.exec(real)?.[1]
  if (repository === undefined) return real
  return commonDirectory(real, disk) === repository ? repository : ''
}

/** The directory whose settings git reads for a directory with a file `commondir`. */
function commonDirectory(directory: string, disk: Disk): string {
  const text = readLead(join(directory, COMMON_DIRECTORY), disk)
  return realPathOrNull(disk, resolve(directory, text.trimEnd())) ?? ''
}

/** Such a file has one line. Text that no path has stands for a file that git does not read. */
function readLead(path: string, disk: Disk): string {
  const status = statusOrNull(disk, path)
  return status?.kind === 'file' && status.size <= MAX_LEAD_BYTES
    ? readFileSync(path, 'utf8')
    : '\0'
}
