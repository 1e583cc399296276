import { SANDBOX_MARK } from '@palisade/protocol'
import { existsSync, fstatSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { resolve } from 'node:path'
import { createPrompts } from '../terminal/prompts.ts'
import { configurationError, usageError } from './cli-error.ts'
import type { Io } from './io.ts'
import { nameProxy } from './name-proxy.ts'
import { replaceProcess } from './programs/replace-process.ts'
import { captureProgram } from './programs/capture-program.ts'
import { createRunProgram } from './programs/run-program.ts'

const STANDARD_INPUT = 0

/** Creates the `Io` of the real process. */
export function createProcessIo(): Io {
  const { stdin, stdout, stderr, env } = process
  // The callback of a write handles its error, which would also end the process without a listener.
  stdout.on('error', ignore)
  stderr.on('error', ignore)
  const isDumb = env['TERM'] === 'dumb'
  const terminal = stdout.isTTY && !isDumb
  return {
    get stdin() {
      return requireReadable(stdin)
    },
    stdout,
    stderr,
    env,
    // Read on demand: either may be unknown, and most commands need at most one of them.
    get cwd() {
      return workingDirectory()
    },
    get home() {
      return homeDirectory()
    },
    hostName: hostname() || 'this machine',
    now: Date.now,
    columns: stdout.isTTY ? stdout.columns : null,
    colour: terminal && (env['NO_COLOR'] ?? '') === '',
    progress: stderr.isTTY && !isDumb,
    prompts: stdin.isTTY && stdout.isTTY ? createPrompts(stdin, stdout) : null,
    fetch: nameProxy(fetch, env),
    interruption,
    self: [process.execPath, ...process.execArgv, resolve(process.argv[1] ?? '')],
    runProgram: createRunProgram(process),
    platform: process.platform,
    isInSandbox: () => existsSync(SANDBOX_MARK),
    replaceProcess,
    captureProgram,
  }
}

/** Node reads a directory on standard input as an empty stream, which must not pass for input. */
function requireReadable(stdin: NodeJS.ReadStream): Io['stdin'] {
  if (isDirectory(STANDARD_INPUT))
    throw usageError('standard input is a directory; name a file, or pipe the text in')
  return stdin
}

function isDirectory(fd: number): boolean {
  try {
    return fstatSync(fd).isDirectory()
  } catch {
    // Standard input is closed; reading it reports the error.
    return false
  }
}

function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    throw usageError('the working directory does not exist; change to one that does')
  }
}

function homeDirectory(): string {
  try {
    return homedir()
  } catch (error) {
    throw configurationError('this user has no home directory; set PALISADE_CONFIG_DIR', error)
  }
}

function interruption(): AbortSignal {
  const interrupted = new AbortController()
  // Once: a second Ctrl-C ends a process that does not end by itself.
  process.once('SIGINT', () => interrupted.abort())
  return interrupted.signal
}

function ignore(): void {
  // The callback of the write handles the error.
}
