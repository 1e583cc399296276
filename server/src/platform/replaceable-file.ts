import { statSync } from 'node:fs'
import { CommandFailure } from './command-failure.ts'

/**
 * Throws CommandFailure for what a file must not be put in the place of: a rename would make a
 * device such as /dev/null, a pipe or a socket an ordinary file for the whole machine. A link is
 * judged by what it leads to; where there is nothing, anything may be made.
 */
export function requireReplaceable(path: string): void {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status !== undefined && !status.isFile())
    throw new CommandFailure('refused', `\`${path}\` is not an ordinary file; name another`)
}
