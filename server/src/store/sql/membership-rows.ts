import type { MembershipRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { MembershipReader, MembershipWriter } from '../contract/organizations.ts'
import type { BumpRevision } from './organization-rows.ts'
import type { Connection } from './connection.ts'
import { createSelectIn } from './select-in.ts'
import { keyOf, type WriterMemory } from './writer-memory.ts'

export function createMembershipReader(connection: Connection): MembershipReader {
  const find = connection.prepare<MembershipRecord>(
    'SELECT * FROM memberships WHERE org = ? AND username = ?',
  )
  const list = connection.prepare<MembershipRecord>(
    'SELECT * FROM memberships WHERE org = ? ORDER BY username',
  )
  const page = connection.prepare<MembershipRecord>(
    'SELECT * FROM memberships WHERE org = ? AND username > ? ORDER BY username LIMIT ?',
  )
  const count = connection.prepare<{ total: number }>(
    'SELECT CAST(count(*) AS INTEGER) AS total FROM memberships WHERE org = ?',
  )
  const rolesOfSome = createSelectIn<Pick<MembershipRecord, 'username' | 'role'>>(
    connection,
    (usernames) =>
      `SELECT username, role FROM memberships WHERE org = ? AND username IN (${usernames})`,
  )
  const listOfUser = connection.prepare<MembershipRecord>(
    'SELECT * FROM memberships WHERE username = ? ORDER BY org',
  )
  const pageOfUser = connection.prepare<MembershipRecord>(
    'SELECT * FROM memberships WHERE username = ? AND org > ? ORDER BY org LIMIT ?',
  )
  const ownersOfAccount = connection.prepare<{ org: string }>(
    `SELECT m.org FROM memberships m
     JOIN account_organizations a ON a.username = m.username AND a.org = m.org
     WHERE m.username = ? ORDER BY m.org`,
  )
  const otherOwner = connection.prepare<{ username: string }>(
    `SELECT username FROM memberships WHERE org = ? AND role = 'owner' AND username <> ? LIMIT 1`,
  )
  const isOwnerOfAccount = connection.prepare<{ org: string }>(
    'SELECT org FROM account_organizations WHERE username = ? AND org = ?',
  )
  return {
    async hasOtherOwner(org, username) {
      return (await otherOwner.get(org, username)) !== undefined
    },
    async isOwnerOfAccount(org, username) {
      return (await isOwnerOfAccount.get(username, org)) !== undefined
    },
    async find(org, username) {
      return (await find.get(org, username)) ?? null
    },
    async list(org) {
      return list.all(org)
    },
    page: (org, { after, limit }) => page.all(org, after, limit),
    async count(org) {
      return (await count.get(org))?.total ?? 0
    },
    async rolesOfSome(org, usernames) {
      const rows = await rolesOfSome([org], usernames)
      return new Map(rows.map(({ username, role }) => [username, role]))
    },
    async listOfUser(username) {
      return listOfUser.all(username)
    },
    pageOfUser: (username, { after, limit }) => pageOfUser.all(username, after, limit),
    async ownersOfAccount(username) {
      return (await ownersOfAccount.all(username)).map(({ org }) => org)
    },
  }
}

export function createMembershipWriter(
  connection: Connection,
  bumpRevision: BumpRevision,
  { memberships }: Pick<WriterMemory, 'memberships'>,
): MembershipWriter {
  const reader = createMembershipReader(connection)
  const insert = connection.prepare(
    'INSERT INTO memberships (org, username, role) VALUES (?, ?, ?)',
  )
  const insertOwner = connection.prepare(
    `INSERT INTO account_organizations (username, org) VALUES (?, ?)
     ON CONFLICT (username, org) DO NOTHING`,
  )
  const updateRole = connection.prepare(
    'UPDATE memberships SET role = ? WHERE org = ? AND username = ?',
  )
  const remove = connection.prepare('DELETE FROM memberships WHERE org = ? AND username = ?')
  return {
    ...reader,
    find: (org, username) =>
      memberships.read(keyOf(org, username), () => reader.find(org, username)),
    async insert({ org, username, role }, { ownsAccount } = { ownsAccount: false }) {
      await insert.run(org, username, role)
      if (ownsAccount) await insertOwner.run(username, org)
      await bumpRevision(org)
    },
    async updateRole(org, username, role) {
      const write = () => updateRole.run(role, org, username)
      requireRow((await memberships.write(keyOf(org, username), write)).result, username)
      await bumpRevision(org)
    },
    async delete(org, username) {
      const write = () => remove.run(org, username)
      requireRow((await memberships.write(keyOf(org, username), write)).result, username)
      await bumpRevision(org)
    },
  }
}

function requireRow(changes: number, username: string): void {
  if (changes === 0)
    throw new StoreError('ERR_STORE_NOT_FOUND', `member \`${username}\` does not exist`)
}
