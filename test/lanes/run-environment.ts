import { delimiter, dirname } from 'node:path'
import { seedOfRun } from './run-size.ts'

/** Gives one seed to all tests of a run, which inherit the environment. */
export function seedRun(): void {
  process.env['PALISADE_SEED'] = String(seedOfRun())
}

/** Programs that a test starts as `node` are run by the Node of the checkout. */
export function pathOfTests(): string {
  return [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
}

/** Files that `--without-missing` leaves out: vitest ignores `--exclude` for its projects. */
export function leftOutFiles(): string[] {
  return (process.env['PALISADE_LEFT_OUT'] ?? '').split(delimiter).filter((file) => file !== '')
}

/** The environment in which files are left out. */
export function leaveOut(files: readonly string[]): Record<string, string> {
  return { PALISADE_LEFT_OUT: files.join(delimiter) }
}
