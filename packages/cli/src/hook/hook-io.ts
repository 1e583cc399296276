import { SANDBOX_MARK } from '@palisade/protocol'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import type { HookIo } from './run-hook.ts'

/** Creates the `HookIo` of the real process. */
export function createHookIo(): HookIo {
  const { stdin, stdout, stderr, env } = process
  // The callback of a write handles its error, which would also end the process without a listener.
  stdout.on('error', ignore)
  stderr.on('error', ignore)
  return {
    stdin,
    stdout,
    stderr,
    env,
    isInSandbox: () => existsSync(SANDBOX_MARK),
    // Read on demand: either may be unknown, which denies the call.
    get cwd() {
      return process.cwd()
    },
    get home() {
      return homedir()
    },
  }
}

function ignore(): void {
  // The callback of the write handles the error.
}
