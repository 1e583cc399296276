import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { nameOfCase, type Case, type CaseResult } from '../case.ts'

/**
 * Runs a case in its own process, so that no other case affects its JIT state. Returns null when
 * the process exceeds `timeoutMs`. Rejects when the process fails.
 */
export async function runCase(each: Case, timeoutMs: number): Promise<CaseResult | null> {
  const args = ['--expose-gc', join(import.meta.dirname, 'child.ts'), JSON.stringify(each)]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      timeout: Math.ceil(timeoutMs),
      maxBuffer: 1 << 24,
    })
    return JSON.parse(stdout) as CaseResult
  } catch (cause) {
    if ((cause as { killed?: boolean }).killed === true) return null
    throw new Error(`case \`${nameOfCase(each)}\` failed`, { cause })
  }
}
