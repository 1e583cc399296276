import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'

/** A shorter prefix is more often a slip than intended. */
const MIN_LENGTH = 4

/**
 * Finds the only item whose id begins with `written`, or null. Throws `ERR_NOT_FOUND`, exit 1, if
 * several ids match: the first may not be the intended one.
 */
export function findByPrefix<T extends { readonly id: string }>(
  kind: string,
  all: readonly T[],
  written: string,
): T | null {
  // Tables shorten ids with an ellipsis.
  const start = written.replace(/(?:…|\.\.\.)$/, '').toLowerCase()
  if (start.length < MIN_LENGTH) return null
  const [found, ...others] = all.filter(({ id }) => id.toLowerCase().startsWith(start))
  if (others.length === 0) return found ?? null
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `${others.length + 1} ${kind} ids begin with \`${start}\`; write more characters`,
  )
}
