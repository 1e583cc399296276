import { defineAggregate } from '../aggregate.ts'
import type { NamePage } from './name-page.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { InvitationRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'

export interface InvitationReader {
  find(org: string, username: string): Promise<InvitationRecord | null>
  /** Lists invitations by username. */
  list(org: string): Promise<InvitationRecord[]>
  page(org: string, page: NamePage): Promise<InvitationRecord[]>
  /** Lists invitations by organization. */
  pageOfUser(username: string, page: NamePage): Promise<InvitationRecord[]>
  count(org: string): Promise<number>
}

export interface InvitationWriter extends InvitationReader {
  insert(invitation: InvitationRecord): Promise<void>
  delete(org: string, username: string): Promise<void>
}

export const INVITATIONS = defineAggregate({
  tables: [{ name: 'invitations', key: ['org', 'username'] }],
  reader: createInvitationReader,
  writer: createInvitationWriter,
  events: auditInvitations,
})

function auditInvitations(
  invitations: InvitationWriter,
  { record }: ChangeRecorder,
): Writes<InvitationWriter, InvitationReader> {
  return {
    async insert(invitation) {
      await invitations.insert(invitation)
      const { org, username, role } = invitation
      await record({
        scope: { org },
        kind: 'invitation.created',
        subject: { id: username, name: username },
        before: null,
        after: { username, role },
      })
    },
    async delete(org, username) {
      const before = await invitations.find(org, username)
      await invitations.delete(org, username)
      await record({
        scope: { org },
        kind: 'invitation.ended',
        subject: { id: username, name: username },
        before: before === null ? null : { username, role: before.role },
        after: null,
      })
    },
  }
}

function createInvitationReader(connection: Connection): InvitationReader {
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

function createInvitationWriter(connection: Connection): InvitationWriter {
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
