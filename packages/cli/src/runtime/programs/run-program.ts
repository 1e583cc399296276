import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { systemCode } from '../system-error.ts'

/** How a program ended, or why it did not start. */
export type ProgramEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'not_started'; readonly code: string }

/**
 * Runs a program with the standard streams of this one, and passes signals on to it. Resolves at
 * its end.
 */
export type RunProgram = (
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
) => Promise<ProgramEnd>

const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'] as const
/** A terminal sends these to the program too. A second one makes many programs stop at once. */
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])

export function createRunProgram(own: NodeJS.Process): RunProgram {
  return ([program, ...args], env) => {
    const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>()
    const pass = (signal: NodeJS.Signals): void => {
      if (!(own.stdin.isTTY && FROM_TERMINAL.has(signal))) child.kill(signal)
    }
    // Before the start: a signal in between would end this program alone.
    for (const signal of FORWARDED) own.on(signal, pass)
    const child = spawn(program, args, { stdio: 'inherit', env: { ...env } })
    child.once('error', (error) => {
      const code = systemCode(error)
      if (code === '') reject(error)
      else resolve({ kind: 'not_started', code })
    })
    child.once('close', (code, signal) => {
      if (signal !== null) resolve({ kind: 'killed', signal })
      else if (code !== null) resolve({ kind: 'exited', code })
    })
    return promise.finally(() => {
      for (const signal of FORWARDED) own.off(signal, pass)
    })
  }
}

const NOT_FOUND = 127
const NOT_EXECUTABLE = 126
/** Added to the number of a signal, as shells do. */
const KILLED = 128

/** The exit code that a shell has after such an end. */
export function exitCodeOf(end: ProgramEnd): number {
  switch (end.kind) {
    case 'exited':
      return end.code
    case 'killed':
      return KILLED + constants.signals[end.signal]
    case 'not_started':
      return end.code === 'ENOENT' || end.code === 'ENOTDIR' ? NOT_FOUND : NOT_EXECUTABLE
  }
}
