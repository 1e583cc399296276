import type { Member, Team } from '@palisade/protocol'
import { StoreError } from '../../store/store-error.ts'
import type { TeamRecord, UserRecord } from '../../store/records.ts'
import type { StoreWriter } from '../../store/store.ts'
import type {
  InvitationReader,
  InvitationWriter,
  KnownNetworkReader,
  KnownNetworkWriter,
  MembershipReader,
  MembershipWriter,
  TeamReader,
  TeamWriter,
  UserReader,
  UserWriter,
} from '../../store/contract/organizations.ts'
import type { RecordChange, Writes } from '../change.ts'

export function auditUsers(
  users: UserWriter,
  record: RecordChange,
): Writes<UserWriter, UserReader> {
  return {
    async insert(user) {
      await users.insert(user)
      const { username, created_at } = user
      await record({
        place: { username },
        kind: 'user.created',
        subject: { id: username, name: username },
        before: null,
        after: { username, created_at },
      })
    },
    async updatePassword(username, passwordHash) {
      const before = await users.find(username)
      await users.updatePassword(username, passwordHash)
      const after = await users.find(username)
      await record({
        place: { username },
        kind: 'user.password_changed',
        subject: { id: username, name: username },
        before: showPassword(before),
        after: showPassword(after),
      })
    },
    async noteFailedSignIns(username, failures) {
      const before = await users.find(username)
      await users.noteFailedSignIns(username, failures)
      const after = await users.find(username)
      await record({
        place: { username },
        kind: 'user.sign_in_failed',
        subject: { id: username, name: username },
        before: { username, failed_sign_ins: before?.failed_sign_ins ?? 0 },
        after: { username, failed_sign_ins: after?.failed_sign_ins ?? 0, ...failures },
      })
    },
    // Which token the teams follow; each change of a team is in the history by itself.
    noteTeamsSynced: (username, issuedAt, names) =>
      users.noteTeamsSynced(username, issuedAt, names),
    async endExternalSessions(username, at) {
      const before = await users.find(username)
      await users.endExternalSessions(username, at)
      await record({
        place: { username },
        kind: 'user.sessions_ended',
        subject: { id: username, name: username },
        before: { username, external_not_before: before?.external_not_before ?? null },
        after: { username, external_not_before: at },
      })
    },
  }
}

/** The number of the password, and whether there is one; no value that helps to guess it. */
function showPassword(user: UserRecord | null) {
  if (user === null) return null
  const { username, password_generation, password_hash } = user
  return { username, password_generation, has_password: password_hash !== null }
}

/** A network is noted once a day at most, and by a right password alone. */
export function auditKnownNetworks(
  knownNetworks: KnownNetworkWriter,
  record: RecordChange,
): Writes<KnownNetworkWriter, KnownNetworkReader> {
  return {
    async note(username, network, at) {
      const before = await knownNetworks.seenAt(username, network)
      await knownNetworks.note(username, network, at)
      await record({
        place: { username },
        kind: 'user.signed_in',
        subject: { id: username, name: username },
        before: before === null ? null : { username, network, seen_at: before },
        after: { username, network, seen_at: at },
      })
    },
    // The cause of it, such as the end of a password, is in the history.
    forget: (username) => knownNetworks.forget(username),
  }
}

export function auditMemberships(
  writer: StoreWriter,
  record: RecordChange,
): Writes<MembershipWriter, MembershipReader> {
  const { memberships } = writer
  const subjectOf = (username: string) => ({ id: username, name: username })
  return {
    async insert(membership, owner) {
      await memberships.insert(membership, owner)
      const { org, username } = membership
      const subject = subjectOf(username)
      const after = await showMember(writer, org, username)
      await record({ place: { org }, kind: 'member.added', subject, before: null, after })
    },
    async updateRole(org, username, role) {
      const before = await showMember(writer, org, username)
      await memberships.updateRole(org, username, role)
      const after = await showMember(writer, org, username)
      const subject = subjectOf(username)
      await record({ place: { org }, kind: 'member.role_changed', subject, before, after })
    },
    async delete(org, username) {
      const before = await showMember(writer, org, username)
      await memberships.delete(org, username)
      const subject = subjectOf(username)
      await record({ place: { org }, kind: 'member.removed', subject, before, after: null })
    },
  }
}

export function auditInvitations(
  { invitations }: StoreWriter,
  record: RecordChange,
): Writes<InvitationWriter, InvitationReader> {
  return {
    async insert(invitation) {
      await invitations.insert(invitation)
      const { org, username, role } = invitation
      await record({
        place: { org },
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
        place: { org },
        kind: 'invitation.ended',
        subject: { id: username, name: username },
        before: before === null ? null : { username, role: before.role },
        after: null,
      })
    },
  }
}

export function auditTeams(
  writer: StoreWriter,
  record: RecordChange,
): Writes<TeamWriter, TeamReader> {
  const { teams } = writer
  return {
    async insert(team) {
      await teams.insert(team)
      const change = { place: { org: team.org }, kind: 'team.created' as const }
      await record({ ...change, subject: nameTeam(team), before: null, after: showTeam(team) })
    },
    async updateDefault(org, id, chosen) {
      const before = showTeam(await findTeam(teams, org, id))
      await teams.updateDefault(org, id, chosen)
      const after = showTeam(await findTeam(teams, org, id))
      const change = { place: { org }, kind: 'team.updated' as const, subject: nameTeam(after) }
      await record({ ...change, before, after })
    },
    async delete(org, id) {
      const team = await findTeam(teams, org, id)
      // The members leave the team with it, and no other event would name them.
      const members = await teams.listMembers(org, id)
      await teams.delete(org, id)
      const before = { ...showTeam(team), members }
      const change = { place: { org }, kind: 'team.deleted' as const, subject: nameTeam(team) }
      await record({ ...change, before, after: null })
    },
    async addMember(org, id, username) {
      const before = await showMember(writer, org, username)
      await teams.addMember(org, id, username)
      const subject = nameTeam(await findTeam(teams, org, id))
      const after = await showMember(writer, org, username)
      await record({ place: { org }, kind: 'team.member_added', subject, before, after })
    },
    async removeMember(org, id, username) {
      const before = await showMember(writer, org, username)
      if (!(await teams.removeMember(org, id, username))) return false
      const subject = nameTeam(await findTeam(teams, org, id))
      const after = await showMember(writer, org, username)
      await record({ place: { org }, kind: 'team.member_removed', subject, before, after })
      return true
    },
  }
}

/** The member with their teams; null for a user who is no member. */
async function showMember(
  { memberships, teams }: StoreWriter,
  org: string,
  username: string,
): Promise<Member | null> {
  const membership = await memberships.find(org, username)
  if (membership === null) return null
  return { username, role: membership.role, teams: await teams.listOfUser(org, username) }
}

function showTeam({ org: _org, ...team }: TeamRecord): Team {
  return team
}

function nameTeam({ id, name }: Team): { id: string; name: string } {
  return { id, name }
}

async function findTeam(teams: TeamReader, org: string, id: string): Promise<TeamRecord> {
  const team = await teams.find(org, id)
  if (team === null) throw new StoreError('ERR_STORE_NOT_FOUND', `team \`${id}\` does not exist`)
  return team
}
