import type { Workspace } from '@palisade/protocol'
import { usageError } from '../runtime/cli-error.ts'

/**
 * Reads `PATH`, `PATH:ro` or `PATH:rw`; without a suffix the access is `rw`. A relative path starts
 * at `directory`. Only the last suffix counts, so `a:ro:rw` is a directory named `a:ro`. Symbolic
 * links and `..` are left to the agent, which follows them as the kernel does. Throws `CliError`.
 */
export function parseWorkspace(text: string, directory: string): Workspace {
  const [, path = text, suffix] = /^(.*):(ro|rw)$/s.exec(text) ?? []
  if (path === '')
    throw usageError(`\`--workspace ${text}\` has no path; write a directory such as \`.:ro\``)
  return {
    path: path.startsWith('/') ? path : `${directory}/${path}`,
    access: suffix === 'ro' ? 'ro' : 'rw',
  }
}
