import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Below the directory of the run: a file for each worker with the name of its test. */
const RUNNING = 'running'

/**
 * Notes the test that a worker runs, or an empty name, before anything else happens: a test that
 * hangs in a loop sends no message to the runner.
 */
export function noteRunningTest(directory: string, worker: string, name: string): void {
  mkdirSync(join(directory, RUNNING), { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, RUNNING, worker), name)
}

/** Returns the names of the tests that have run for longer than a time. */
export function hangingTests(directory: string, limitMs: number): string[] {
  try {
    return readdirSync(join(directory, RUNNING)).flatMap((worker) => {
      const file = join(directory, RUNNING, worker)
      const name = readFileSync(file, 'utf8')
      return name !== '' && Date.now() - statSync(file).mtimeMs > limitMs ? [name] : []
    })
  } catch {
    return [] // no test has begun
  }
}
