import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

export interface ClientRun {
  /** -1 if a signal ended the program. */
  readonly code: number
  /** Standard output, then standard error. */
  readonly output: string
}

/** Ends a program that hangs; a busy machine takes its time. */
const TIMEOUT_MS = 180_000

export function hasProgram(name: string): boolean {
  return spawnSync(name, [name === 'ssh' ? '-V' : '--version']).error === undefined
}

/** Runs a program in its home, without input. */
export async function runClient(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ClientRun> {
  const options = { env, cwd: env['HOME'], timeout: TIMEOUT_MS }
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code] = await once(child, 'close')
  return { code: typeof code === 'number' ? code : -1, output: stdout + stderr }
}
