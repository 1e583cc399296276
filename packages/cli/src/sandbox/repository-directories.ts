import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The directories from this one up to the top of its working tree, which has `.git`; null outside a
 * repository.
 */
export function repositoryDirectories(directory: string): readonly string[] | null {
  const above: string[] = []
  for (let at = directory, former = ''; at !== former; former = at, at = dirname(at)) {
    above.push(at)
    if (existsSync(join(at, '.git'))) return above
  }
  return null
}
