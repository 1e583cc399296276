import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new mount point, which stays until the directory of the run goes. To remove it takes its mount
 * from the namespaces of other tests too, and bubblewrap fails while it binds the whole machine: 2
 * of 4,000 starts.
 */
export function makeMountPoint(): string {
  return mkdtempSync(join(tmpdir(), 'palisade-disk-'))
}
