import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Where to leave what is to be undone; for what several tests share, a list of their own. */
export type AtEnd = (undo: () => void | Promise<void>) => void

/** A directory that is gone when the test is. */
export function temporaryDirectory(atEnd: AtEnd = onTestFinished): string {
  const path = mkdtempSync(join(tmpdir(), 'palisade-server-'))
  atEnd(() => rmSync(path, { recursive: true, force: true }))
  return path
}
