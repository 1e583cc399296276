import { homedir } from 'node:os'
import type { Io } from './io.ts'
import { createPrompts } from './terminal/prompts.ts'

/** The real surroundings of the process. */
export function createProcessIo(): Io {
  const { stdin, stdout, stderr, env } = process
  // A failed write is reported to the writer; without a listener it would also end the process.
  stdout.on('error', ignore)
  stderr.on('error', ignore)
  const terminal = stdout.isTTY && env['TERM'] !== 'dumb'
  return {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    home: homedir(),
    now: Date.now,
    colour: terminal && (env['NO_COLOR'] ?? '') === '',
    progress: stderr.isTTY,
    prompts: stdin.isTTY && stdout.isTTY ? createPrompts(stdin, stdout) : null,
    fetch,
  }
}

function ignore(): void {
  // Seen by the callback of the write.
}
