import { dirname, resolve } from 'node:path'
import { realPathOrNull, statusOrNull, type ViewDisk } from './disk.ts'
import type { GuardedView } from './guarded-view.ts'
import { isWithin } from './mount-table.ts'
import { readBeginning } from './regular-file.ts'
import { COMMON_DIRECTORY, REPOSITORY } from './repository.ts'
import { isShown } from './shown-path.ts'
import { quotePath } from './view-refusal.ts'

const MAX_BYTES = 4_096

/**
 * A sentence about the repository of the directory, if git finds it elsewhere and the sandbox does
 * not show it there: that of a further working tree, of a submodule, of `--separate-git-dir`, one
 * behind a link, and one that borrows objects (gitrepository-layout(5)).
 */
export function warnOfOuterRepository(
  directory: string,
  view: Pick<GuardedView, 'workspaces' | 'areas' | 'restricted' | 'absent'>,
  disk: Pick<ViewDisk, 'realPath' | 'status'>,
): readonly string[] {
  const workspace = view.workspaces.findLast(({ path }) => isWithin(directory, path))
  if (workspace === undefined) return []
  for (let at = directory; isWithin(at, workspace.path); at = dirname(at)) {
    const path = `${at}/${REPOSITORY}`
    const found = statusOrNull(disk, path)
    if (found !== null) {
      const repository = found.kind === 'file' ? namedBy(path, at) : realPathOrNull(disk, path)
      const lacking = partsOf(repository).find(([part]) => !isShown(part, view, disk))
      return lacking === undefined ? [] : [describe(path, ...lacking)]
    }
  }
  return []
}

type Part = readonly [path: string, access: 'ro' | 'rw']

/** The directories of a repository, and those of which it reads objects. */
function partsOf(repository: string | null): readonly Part[] {
  if (repository === null) return []
  const text = readText(`${repository}/${COMMON_DIRECTORY}`)?.trimEnd()
  const common = text === undefined ? repository : resolve(repository, text)
  const borrowed = readText(`${common}/objects/info/alternates`)?.split('\n') ?? []
  return [
    [common, 'rw'],
    [repository, 'rw'],
    ...borrowed
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): Part => [resolve(`${common}/objects`, line), 'ro']),
  ]
}

/** The directory that a file `.git` names. */
function namedBy(file: string, directory: string): string | null {
  const named = /^gitdir: (.+)/.exec(readText(file) ?? '')?.[1]
  return named === undefined ? null : resolve(directory, named)
}

/** The beginning of a file; undefined if it cannot be read. */
function readText(path: string): string | undefined {
  return readBeginning(path, MAX_BYTES)?.toString('utf8')
}

/** A repository `.git` is opened with its working tree, a bare one by itself. */
function describe(file: string, part: string, access: 'ro' | 'rw'): string {
  const at = `${part}/`.indexOf(`/${REPOSITORY}/`)
  const outer = at > 0 ? part.slice(0, at) : part.replace(/\/objects$/, '')
  return (
    `git will not work here: ${quotePath(file)} leads to ${quotePath(part)}, which the sandbox ` +
    `does not show; add ${quotePath(`--workspace ${outer}:${access}`)} beside \`--workspace .\``
  )
}
