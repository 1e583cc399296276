import Sqlite from 'better-sqlite3'
import { randomBytes, randomUUID } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOrganization } from '../../../../server/src/organizations/create-organization.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { temporaryDirectory, type AtEnd } from '../../temporary-directory.ts'

/** A path in a new directory. */
export const newPath = (name = 'server.db', atEnd?: AtEnd) => join(temporaryDirectory(atEnd), name)

const sources = {
  now: () => new Date('2026-11-21T08:00:00.000Z'),
  random: (bytes: number) => randomBytes(bytes),
  newId: () => randomUUID(),
}

export async function addOrganization(store: Store, name: string): Promise<void> {
  await createOrganization(
    { store: createAuditedStore({ store, ...sources }), ...sources },
    { name, owner: 'alice', entitled: true },
  )
}

/** A closed database with these organizations. */
export function makeDatabase(...organizations: string[]): Promise<string> {
  return makeDatabaseAt(newPath(), organizations)
}

export async function makeDatabaseAt(
  path: string,
  organizations: readonly string[],
): Promise<string> {
  const store = openSqliteStore(path)
  for (const name of organizations) await addOrganization(store, name)
  await store.close()
  return path
}

/** A copy in a new directory, which a test may change. */
export function copyDatabase(path: string): string {
  const copy = newPath()
  copyFileSync(path, copy)
  return copy
}

/** Names and revisions of its organizations, without changing a closed database. */
export function organizationsOf(path: string): { name: string; revision: number }[] {
  const database = new Sqlite(path, { readonly: true })
  try {
    return database
      .prepare<[], { name: string; revision: number }>(
        'SELECT name, revision FROM organizations ORDER BY name',
      )
      .all()
  } finally {
    database.close()
  }
}

/** Runs statements on a closed database. */
export function alter(path: string, sql: string): void {
  const database = new Sqlite(path)
  database.pragma('foreign_keys = OFF')
  database.exec(sql)
  database.close()
}
