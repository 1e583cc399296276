import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Registers a clean-up; for resources that several tests share, with a list of their own. */
export type AtEnd = (undo: () => void | Promise<void>) => void

/** Creates a directory that is removed at the end of the test. */
export function temporaryDirectory(atEnd: AtEnd = onTestFinished): string {
  const path = mkdtempSync(join(tmpdir(), 'palisade-server-'))
  atEnd(() => rmSync(path, { recursive: true, force: true }))
  return path
}
