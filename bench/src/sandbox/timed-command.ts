import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface TimedCommand {
  /** Milliseconds from the start to the exit. Rejects unless the command succeeds. */
  once(): Promise<number>
  /** The same; resolves to a reason when the command fails. */
  tryOnce(): Promise<number | string>
}

const TIMEOUT_MS = 30_000

export function createTimedCommand(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): TimedCommand {
  const tryOnce = async (): Promise<number | string> => {
    const started = performance.now()
    const child = spawn(program, args, {
      cwd,
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TIMEOUT_MS,
    })
    const ended = once(child, 'exit').then(() => performance.now() - started)
    try {
      const [took, complaint] = await Promise.all([ended, text(child.stderr)])
      if (child.exitCode === 0) return took
      return complaint.trim().split('\n').at(-1) || `ended with ${child.exitCode}`
    } catch (error) {
      return (error as Error).message
    }
  }
  return {
    tryOnce,
    async once() {
      const outcome = await tryOnce()
      if (typeof outcome === 'number') return outcome
      throw new Error(`\`${program}\` failed: ${outcome}`)
    },
  }
}
