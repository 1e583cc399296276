import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { createDatabaseFile, type DatabaseFile } from './database-file.ts'

export const NOW = '2026-11-21T08:00:00.250Z'
/** Of `acme`; `rival` has one. */
export const EVENTS = 250
/** A condition on events of `acme`, to be followed by numbers. */
export const WHERE = "org = 'acme' AND sequence"

/** Creates the database of two organizations with their histories. */
export async function createEventHistory(): Promise<DatabaseFile> {
  const file = createDatabaseFile()
  await file.withStore(async (store) => {
    const audited = createAuditedStore({ store, now: () => new Date(NOW) })
    await audited.write(OPERATOR, async (writer) => {
      for (const name of ['acme', 'rival'])
        await writer.organizations.insert({
          name,
          entitled: true,
          resolve_unlisted_names: false,
          created_at: NOW,
        })
      for (let index = 2; index <= EVENTS; index += 1)
        await writer.teams.insert({ id: `t${index}`, org: 'acme', name: `team ${index}` })
    })
  })
  return file
}
