import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PROCESS = join(import.meta.dirname, '../proofs-process.ts')

/** Returns the bytes that two million remembered proofs retain, measured in a separate process. */
export async function measureProofs(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROCESS])
  return Number(stdout)
}
