import type { Database } from 'better-sqlite3'
import type { MembershipRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { MembershipReader, MembershipWriter } from '../store.ts'
import type { BumpRevision } from './organization-rows.ts'
import { prepare } from './statement.ts'

export function createMembershipReader(database: Database): MembershipReader {
  const find = prepare<MembershipRecord>(
    database,
    'SELECT * FROM memberships WHERE org = ? AND username = ?',
  )
  const list = prepare<MembershipRecord>(
    database,
    'SELECT * FROM memberships WHERE org = ? ORDER BY username',
  )
  const listOfUser = prepare<MembershipRecord>(
    database,
    'SELECT * FROM memberships WHERE username = ? ORDER BY org',
  )
  return {
    async find(org, username) {
      return find.get(org, username) ?? null
    },
    async list(org) {
      return list.all(org)
    },
    async listOfUser(username) {
      return listOfUser.all(username)
    },
  }
}

export function createMembershipWriter(
  database: Database,
  bumpRevision: BumpRevision,
): MembershipWriter {
  const insert = prepare(database, 'INSERT INTO memberships (org, username, role) VALUES (?, ?, ?)')
  const updateRole = prepare(
    database,
    'UPDATE memberships SET role = ? WHERE org = ? AND username = ?',
  )
  const remove = prepare(database, 'DELETE FROM memberships WHERE org = ? AND username = ?')
  return {
    ...createMembershipReader(database),
    async insert({ org, username, role }) {
      insert.run(org, username, role)
      bumpRevision(org)
    },
    async updateRole(org, username, role) {
      requireRow(updateRole.run(role, org, username), username)
      bumpRevision(org)
    },
    async delete(org, username) {
      requireRow(remove.run(org, username), username)
      bumpRevision(org)
    },
  }
}

function requireRow(changes: number, username: string): void {
  if (changes === 0)
    throw new StoreError('ERR_STORE_NOT_FOUND', `member \`${username}\` is not there`)
}
