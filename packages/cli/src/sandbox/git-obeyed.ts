import { dirname, resolve } from 'node:path'
import { repositoryDirectories } from './repository-directories.ts'

/** One setting of git, with the file that has it; null for a setting of the environment. */
export interface GitSetting {
  readonly file: string | null
  readonly key: string
  readonly value: string
}

const HOOKS = 'core.hookspath'
/** A prefix of git 2.52 for a path that may be missing. */
const OPTIONAL = /^:\(optional\)/

/**
 * The absolute paths of hooks and included settings that the settings name. Git takes relative ones
 * from the top of the working tree, or in a bare repository from its own directory.
 */
export function findObeyed(
  settings: readonly GitSetting[],
  { cwd, home }: { readonly cwd: string; readonly home: string },
): readonly string[] {
  const tops = [...new Set([repositoryDirectories(cwd)?.at(-1) ?? cwd, cwd])]
  const paths = settings.flatMap(({ file, key, value }) => {
    const path = expandHome(value.replace(OPTIONAL, ''), home)
    if (path === '') return []
    return tops.map((top) =>
      key === HOOKS || file === null ? resolve(top, path) : resolve(top, dirname(file), path),
    )
  })
  return [...new Set(paths)]
}

/** Git replaces a leading `~/`. */
export function expandHome(path: string, home: string): string {
  return path.replace(/^~(?=\/)/, () => home)
}
