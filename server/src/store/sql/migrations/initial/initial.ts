import type { Dialect } from '../../dialect.ts'
import { devices } from './devices.ts'
import { history } from './history.ts'
import { organizations } from './organizations.ts'
import { policies } from './policies.ts'
import { serverState } from './server-state.ts'
import { tokens } from './tokens.ts'
import { views } from './views.ts'

/**
 * The whole schema of version 1. Each area comes after those that its foreign keys refer to.
 *
 * Foreign keys carry the organization's name, so that a row of one organization cannot refer to a
 * row of another even if a caller forgot to ask. Columns that end in `_at`, `_by` or hold JSON are
 * described at the records of `store/records.ts` and `store/distribution-records.ts`.
 */
export function initial(dialect: Dialect): string {
  return [organizations, policies, tokens, devices, history, views, serverState]
    .map((area) => area(dialect))
    .join('\n')
}
