import type { Database } from 'better-sqlite3'
import type { OrganizationRecord, UserRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { OrganizationReader, OrganizationWriter, UserReader, UserWriter } from '../store.ts'
import { prepare } from './statement.ts'

interface OrganizationRow {
  readonly name: string
  readonly entitled: number
  readonly revision: number
  readonly resolve_unlisted_names: number
  readonly created_at: string
}

/** Raises the organization's revision and answers the new one. */
export type BumpRevision = (org: string) => number

export function createBumpRevision(database: Database): BumpRevision {
  const bump = prepare<{ revision: number }>(
    database,
    'UPDATE organizations SET revision = revision + 1 WHERE name = ? RETURNING revision',
  )
  return (org) => {
    const row = bump.get(org)
    if (row === undefined)
      throw new StoreError('ERR_STORE_NOT_FOUND', `organization \`${org}\` is not there`)
    return row.revision
  }
}

export function createOrganizationReader(database: Database): OrganizationReader {
  const find = prepare<OrganizationRow>(database, 'SELECT * FROM organizations WHERE name = ?')
  const count = prepare<{ total: number }>(database, 'SELECT count(*) AS total FROM organizations')
  return {
    async find(name) {
      const row = find.get(name)
      return row === undefined ? null : toOrganization(row)
    },
    async count() {
      return count.get()?.total ?? 0
    },
  }
}

export function createOrganizationWriter(
  database: Database,
  bumpRevision: BumpRevision,
): OrganizationWriter {
  const insert = prepare(
    database,
    `INSERT INTO organizations (name, entitled, revision, resolve_unlisted_names, created_at)
     VALUES (?, ?, 0, ?, ?)`,
  )
  const updateSettings = prepare(
    database,
    'UPDATE organizations SET resolve_unlisted_names = ? WHERE name = ?',
  )
  return {
    ...createOrganizationReader(database),
    async insert(organization) {
      const { name, entitled, resolve_unlisted_names, created_at } = organization
      insert.run(name, Number(entitled), Number(resolve_unlisted_names), created_at)
      return { ...organization, revision: 0 }
    },
    async updateSettings(name, settings) {
      updateSettings.run(Number(settings.resolve_unlisted_names), name)
      bumpRevision(name)
    },
  }
}

export function createUserReader(database: Database): UserReader {
  const find = prepare<UserRecord>(database, 'SELECT * FROM users WHERE username = ?')
  return {
    async find(username) {
      return find.get(username) ?? null
    },
  }
}

export function createUserWriter(database: Database): UserWriter {
  const insert = prepare(
    database,
    'INSERT INTO users (username, password_hash, created_at) VALUES (?, ?, ?)',
  )
  return {
    ...createUserReader(database),
    async insert(user) {
      insert.run(user.username, user.password_hash, user.created_at)
    },
  }
}

function toOrganization(row: OrganizationRow): OrganizationRecord {
  return {
    ...row,
    entitled: row.entitled === 1,
    resolve_unlisted_names: row.resolve_unlisted_names === 1,
  }
}
