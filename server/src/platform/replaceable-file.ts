import { statSync } from 'node:fs'
import { CommandFailure } from './command-failure.ts'

/**
 * Throws CommandFailure if `path` must not be replaced by a file: a rename would make a device such
 * as /dev/null, a pipe or a socket an ordinary file for the whole machine. A link is checked by its
 * target; a free path is always allowed.
 */
export function requireReplaceable(path: string): void {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status !== undefined && !status.isFile())
    throw new CommandFailure('refused', `\`${path}\` is not an ordinary file; name another`)
}
