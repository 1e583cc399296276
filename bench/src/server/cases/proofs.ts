import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PROCESS = join(import.meta.dirname, '../proofs-process.ts')

/** Bytes that two million remembered proofs hold, in a process of their own. */
export async function measureProofs(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROCESS])
  return Number(stdout)
}
