import type { InvitationReader, InvitationWriter } from '../contract/organizations.ts'
import type { InvitationRecord } from '../records.ts'
import type { Connection } from './connection.ts'

export function createInvitationReader(connection: Connection): InvitationReader {
  const find = connection.prepare<InvitationRecord>(
    'SELECT * FROM invitations WHERE org = ? AND username = ?',
  )
  const list = connection.prepare<InvitationRecord>(
    'SELECT * FROM invitations WHERE org = ? ORDER BY username',
  )
  const page = connection.prepare<InvitationRecord>(
    'SELECT * FROM invitations WHERE org = ? AND username > ? ORDER BY username LIMIT ?',
  )
  const pageOfUser = connection.prepare<InvitationRecord>(
    'SELECT * FROM invitations WHERE username = ? AND org > ? ORDER BY org LIMIT ?',
  )
  const count = connection.prepare<{ total: number }>(
    'SELECT CAST(count(*) AS INTEGER) AS total FROM invitations WHERE org = ?',
  )
  return {
    async find(org, username) {
      return (await find.get(org, username)) ?? null
    },
    list: (org) => list.all(org),
    page: (org, { after, limit }) => page.all(org, after, limit),
    pageOfUser: (username, { after, limit }) => pageOfUser.all(username, after, limit),
    async count(org) {
      return (await count.get(org))?.total ?? 0
    },
  }
}

export function createInvitationWriter(connection: Connection): InvitationWriter {
  const insert = connection.prepare(
    `INSERT INTO invitations (org, username, role, invited_by, created_at)
     VALUES (?, ?, ?, ?, ?)`,
    'governance',
  )
  const remove = connection.prepare(
    'DELETE FROM invitations WHERE org = ? AND username = ?',
    'governance',
  )
  return {
    ...createInvitationReader(connection),
    async insert({ org, username, role, invited_by, created_at }) {
      await insert.run(org, username, role, invited_by, created_at)
    },
    async delete(org, username) {
      await remove.run(org, username)
    },
  }
}
