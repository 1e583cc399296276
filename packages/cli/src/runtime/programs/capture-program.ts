import { spawn } from 'node:child_process'
import { systemCode } from '../system-error.ts'

export type Captured =
  /** Both streams, joined. */
  | { readonly kind: 'ended'; readonly code: number | null; readonly output: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'timeout' }

/** Runs a program without input and collects its output, of which it keeps the first 64 KiB. */
export type CaptureProgram = (
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  timeoutMs: number,
) => Promise<Captured>

const MAX_OUTPUT_LENGTH = 65_536

export const captureProgram: CaptureProgram = ([program, ...args], env, timeoutMs) => {
  const { promise, resolve, reject } = Promise.withResolvers<Captured>()
  // A group of its own, so that the programs that it starts end with it.
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < MAX_OUTPUT_LENGTH) output += text
    })
  const timer = setTimeout(() => {
    endGroup(child.pid)
    child.stdout.destroy()
    child.stderr.destroy()
    resolve({ kind: 'timeout' })
  }, timeoutMs)
  child.once('error', (error) => {
    if (systemCode(error) === '') reject(error)
    else resolve({ kind: 'missing' })
  })
  child.once('close', (code) => resolve({ kind: 'ended', code, output }))
  return promise.finally(() => clearTimeout(timer))
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
