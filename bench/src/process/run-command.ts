import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface CommandOptions {
  readonly cwd?: string
  /** In addition to PATH. */
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly timeoutMs?: number
}

export interface CommandRun {
  readonly output: string
  /** From the start of the process to its exit. */
  readonly tookMs: number
}

/** Runs a program to its exit. Rejects with its last complaint unless it succeeds. */
export async function runCommand(
  program: string,
  args: readonly (string | number)[],
  { cwd, env = {}, input = '', timeoutMs = 60_000 }: CommandOptions = {},
): Promise<CommandRun> {
  const started = performance.now()
  const child = spawn(program, args.map(String), {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  // A program may end before it reads.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = once(child, 'exit').then(() => performance.now() - started)
  const [tookMs, output, complaint] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
  ])
  if (child.exitCode === 0) return { output, tookMs }
  const end = child.signalCode ?? child.exitCode
  const why = complaint.trim().split('\n').at(-1) ?? ''
  throw new Error(`\`${[program, ...args].join(' ')}\` ended with ${end}: ${why}`)
}

/** Runs a script or program of Node. */
export function runNode(
  args: readonly (string | number)[],
  options?: CommandOptions,
): Promise<CommandRun> {
  return runCommand(process.execPath, args, options)
}
