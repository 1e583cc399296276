import Sqlite from 'better-sqlite3'
import { dirname } from 'node:path'
import { CommandFailure } from '../../platform/command-failure.ts'

const NO_ROOM = /^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL)$/
const NOT_ALLOWED = /^(EACCES|EPERM|EROFS)$/

/** A failed write of `file`, as a refusal in words; any other error unchanged. */
export function describeUnwritable(file: string, error: unknown): unknown {
  const isKnown = error instanceof Sqlite.SqliteError || isSystemError(error)
  if (!isKnown) return error
  const { code } = error
  if (NO_ROOM.test(code))
    return new CommandFailure('refused', `no space is left for \`${file}\` (${code}); free some`)
  if (NOT_ALLOWED.test(code))
    return new CommandFailure(
      'refused',
      `directory \`${dirname(file)}\` cannot be written (${code}); name another directory`,
    )
  return new CommandFailure('refused', `\`${file}\` cannot be written (${code})`)
}

function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error
}
