import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { finish, type Finished } from './checkout.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export const START = join(ROOT, 'packages/launcher/start.ts')

/** A running `start.ts`, with its output so far. */
export interface Started {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
  /** Resolves with standard output once it contains `text`; rejects if the program ends first. */
  said(text: string): Promise<string>
}

/**
 * Starts the built server and agent through the launcher, without the caller's environment.
 */
export function start(args: readonly string[], env: Readonly<Record<string, string>>): Started {
  return startScript([START, ...args], env)
}

export function startScript(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Started {
  const path = process.env['PATH'] ?? ''
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { PATH: path, ...env } })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  const finished = finish(child)
  return {
    child,
    finished,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (stdout.includes(text)) resolve(stdout)
        }
        child.stdout.on('data', look)
        look()
        child.on('close', (code) =>
          reject(new Error(`ended with ${code} before it said \`${text}\``)),
        )
      }),
  }
}
