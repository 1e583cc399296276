import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file of tests that failed, with the project of `vitest.config.ts` that ran it. */
export interface FailedFile {
  readonly project: string
  readonly path: string
}

/** Below the directory of the run. */
const NOTE = 'failed.json'

/** The projects whose tests share the machine with processes that no seed decides. */
const REPEATED = ['process', 'PostgreSQL']
/** More failures than these have one cause, which a second run does not remove. */
const MAX_REPEATED = 3

export function noteFailedFiles(directory: string, files: readonly FailedFile[]): void {
  writeFileSync(join(directory, NOTE), JSON.stringify(files))
}

/** Returns the files that failed, or none where the run ended before it knew. */
export function readFailedFiles(directory: string): readonly FailedFile[] {
  try {
    return JSON.parse(readFileSync(join(directory, NOTE), 'utf8')) as readonly FailedFile[]
  } catch {
    return []
  }
}

/**
 * Whether the files are run once more, alone and with the same seed. A fault of the program that
 * does not depend on time fails again; a law is never repeated.
 */
export function areRepeated(files: readonly FailedFile[]): boolean {
  return (
    files.length > 0 &&
    files.length <= MAX_REPEATED &&
    files.every(({ project }) => REPEATED.includes(project))
  )
}
