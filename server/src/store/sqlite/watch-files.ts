import { statSync } from 'node:fs'
import { StoreError } from '../store-error.ts'

/**
 * A check that throws `ERR_STORE_UNAVAILABLE` unless the files at `paths` are those that are there
 * now. SQLite goes on writing to a file that was deleted or moved away, and calls that a success.
 */
export function watchFiles(paths: readonly string[]): () => void {
  const identities = paths.map(identityOf)
  return () => {
    const lost = paths.find((path, index) => identityOf(path) !== identities[index])
    if (lost === undefined) return
    throw new StoreError(
      'ERR_STORE_UNAVAILABLE',
      `\`${lost}\` was deleted or replaced; put it back, or restart`,
    )
  }
}

function identityOf(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`
}
