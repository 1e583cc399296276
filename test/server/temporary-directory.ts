import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'
import { removeDirectory } from '../remove-directory.ts'

/** Registers a clean-up; for resources that several tests share, with a list of their own. */
export type AtEnd = (undo: () => void | Promise<void>) => void

/**
 * Clean-ups of what the tests of a file, or of a `describe`, share: the last one first. Called
 * outside of hooks, because vitest ignores `afterAll` in a running `beforeAll`.
 */
export function atEndOfTests(): AtEnd {
  const undone: (() => void | Promise<void>)[] = []
  afterAll(async () => {
    for (const undo of undone.splice(0).toReversed()) await undo()
  })
  return (undo) => void undone.push(undo)
}

/** Creates a directory that is removed at the end of the test. */
export function temporaryDirectory(atEnd: AtEnd = onTestFinished): string {
  const path = mkdtempSync(join(tmpdir(), 'palisade-server-'))
  atEnd(() => removeDirectory(path))
  return path
}
