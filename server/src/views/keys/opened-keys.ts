import type { DistributionKeyRecord } from '../../store/distribution-records.ts'
import { createRecent } from '../../platform/recent.ts'
import { openRoleKey, type RoleKey } from './role-key.ts'

/** Three for each organization. */
const MAX_KEYS = 3_000

/**
 * Opens a stored key for signing. Throws the error of `node:crypto` for a key that it cannot read.
 */
export type OpenKey = (record: DistributionKeyRecord) => RoleKey

/** Opens each key once: to import it takes as long as to sign with it. */
export function rememberOpenedKeys(): OpenKey {
  const opened = createRecent<RoleKey>(MAX_KEYS, () => 1)
  return (record) => {
    const known = opened.find(record.kid)
    if (known !== null) return known
    const key = openRoleKey(record)
    opened.keep(record.kid, key)
    return key
  }
}
