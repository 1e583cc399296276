import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'

/** Shorter beginnings are slips more often than they are meant. */
const MIN_LENGTH = 4

/**
 * The only one whose id begins with `written`, or null when none does. Throws `ERR_NOT_FOUND`,
 * exit 1, when several do: the first would be another than the one that is meant.
 */
export function findByPrefix<T extends { readonly id: string }>(
  kind: string,
  all: readonly T[],
  written: string,
): T | null {
  // The ellipsis of the tables in our documents.
  const start = written.replace(/(?:…|\.\.\.)$/, '').toLowerCase()
  if (start.length < MIN_LENGTH) return null
  const [found, ...others] = all.filter(({ id }) => id.toLowerCase().startsWith(start))
  if (others.length === 0) return found ?? null
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `${others.length + 1} ids of a ${kind} begin with \`${start}\`; write more of it`,
  )
}
