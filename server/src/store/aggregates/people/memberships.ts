import type { Member, Role } from '@palisade/protocol'
import { defineAggregate, type WriterContext } from '../aggregate.ts'
import type { NamePage } from './name-page.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { MembershipRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'
import { keyOf } from '../../sql/write-cache.ts'
import { StoreError } from '../../store-error.ts'

export interface MembershipReader {
  find(org: string, username: string): Promise<MembershipRecord | null>
  /** Lists members by username. */
  list(org: string): Promise<MembershipRecord[]>
  page(org: string, page: NamePage): Promise<MembershipRecord[]>
  count(org: string): Promise<number>
  /** Roles of those of the users that are members, by username. */
  rolesOfSome(org: string, usernames: readonly string[]): Promise<Map<string, Role>>
  /** Lists memberships by organization. */
  listOfUser(username: string): Promise<MembershipRecord[]>
  pageOfUser(username: string, page: NamePage): Promise<MembershipRecord[]>
  /**
   * Names of the organizations that own the user's account and have the user as a member,
   * ascending.
   */
  ownersOfAccount(username: string): Promise<string[]>
  /** Names of users whose account the organization owns, members or not, ascending. */
  accountsOf(org: string, page: NamePage): Promise<string[]>
  /** Whether the organization has an owner besides this user. */
  hasOtherOwner(org: string, username: string): Promise<boolean>
  /** Whether the organization owns the user's account, even if the user is no member of it. */
  isOwnerOfAccount(org: string, username: string): Promise<boolean>
}

export interface MembershipWriter extends MembershipReader {
  /**
   * With `ownsAccount` the organization owns the account from now on, also after the user has left:
   * it has made the account. It alone sees the use of the account, and may reset its password.
   */
  insert(membership: MembershipRecord, owner?: { readonly ownsAccount: boolean }): Promise<void>
  updateRole(org: string, username: string, role: Role): Promise<void>
  /** Also takes the user out of the organization's teams. */
  delete(org: string, username: string): Promise<void>
}

export const MEMBERSHIPS = defineAggregate({
  tables: [
    { name: 'memberships', key: ['org', 'username'] },
    { name: 'account_organizations', key: ['username', 'org'] },
  ],
  reader: createMembershipReader,
  writer: createMembershipWriter,
  events: auditMemberships,
})

function auditMemberships(
  memberships: MembershipWriter,
  { record }: ChangeRecorder,
  { teams }: { readonly teams: TeamsOfUsers },
): Writes<MembershipWriter, MembershipReader> {
  const showMember = createShowMember(memberships, teams)
  const subjectOf = (username: string) => ({ id: username, name: username })
  return {
    async insert(membership, owner) {
      await memberships.insert(membership, owner)
      const { org, username } = membership
      const subject = subjectOf(username)
      const after = await showMember(org, username)
      await record({ scope: { org }, kind: 'member.added', subject, before: null, after })
    },
    async updateRole(org, username, role) {
      const before = await showMember(org, username)
      await memberships.updateRole(org, username, role)
      const after = await showMember(org, username)
      const subject = subjectOf(username)
      await record({ scope: { org }, kind: 'member.role_changed', subject, before, after })
    },
    async delete(org, username) {
      const before = await showMember(org, username)
      await memberships.delete(org, username)
      const subject = subjectOf(username)
      await record({ scope: { org }, kind: 'member.removed', subject, before, after: null })
    },
  }
}

/** The part of `TeamReader` that the event of a member needs. */
export interface TeamsOfUsers {
  listOfUser(org: string, username: string): Promise<string[]>
}

/** Shows a member with their teams; null for a user who is no member. */
export function createShowMember(memberships: Pick<MembershipReader, 'find'>, teams: TeamsOfUsers) {
  return async (org: string, username: string): Promise<Member | null> => {
    const membership = await memberships.find(org, username)
    if (membership === null) return null
    return { username, role: membership.role, teams: await teams.listOfUser(org, username) }
  }
}

function createMembershipReader(connection: Connection): MembershipReader {
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
  const accountsOf = connection.prepare<{ username: string }>(
    `SELECT username FROM account_organizations
     WHERE org = ? AND username > ? ORDER BY username LIMIT ?`,
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
    async accountsOf(org, { after, limit }) {
      return (await accountsOf.all(org, after, limit)).map(({ username }) => username)
    },
    async ownersOfAccount(username) {
      return (await ownersOfAccount.all(username)).map(({ org }) => org)
    },
  }
}

function createMembershipWriter(
  connection: Connection,
  { cache: { memberships }, bumpRevision }: WriterContext,
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
