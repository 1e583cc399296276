import { StoreError } from './store-error.ts'

/**
 * Whether opening a store may make a database and bring its schema up to date, or takes one as it
 * is: a command that is run in a wrong place must not leave a database there, nor one of a newer
 * release migrate under a server of an older.
 */
export type OpenMode = 'create' | 'existing'

/**
 * Throws unless a database with schema `found` can be taken as it is by a release that knows
 * `known`; 0 stands for an empty one.
 */
export function requireExisting(found: number, known: number, label: string): void {
  if (found === 0) throw absent(label)
  if (found < known)
    throw new StoreError(
      'ERR_STORE_SCHEMA_TOO_OLD',
      `database \`${label}\` has schema ${found} and this release needs ${known}; ` +
        'start this release on it once, or use the one that serves it',
    )
}

/** `ERR_STORE_ABSENT`; `label` is where it was looked for. */
export function absent(label: string, cause?: unknown): StoreError {
  return new StoreError('ERR_STORE_ABSENT', `there is no database at \`${label}\``, { cause })
}
