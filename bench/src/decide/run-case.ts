import { join } from 'node:path'
import { runNode } from '../process/run-command.ts'
import { nameOfCase, type Case, type CaseResult } from './case.ts'

const CHILD = join(import.meta.dirname, 'child.ts')

/**
 * Runs a case in its own process, so that no other case affects its JIT state. Rejects when the
 * process fails or exceeds its time.
 */
export async function runCase(each: Case, timeoutMs = 60_000): Promise<CaseResult> {
  try {
    const { output } = await runNode(['--expose-gc', CHILD, JSON.stringify(each)], { timeoutMs })
    return JSON.parse(output) as CaseResult
  } catch (cause) {
    throw new Error(`case \`${nameOfCase(each)}\` failed`, { cause })
  }
}
