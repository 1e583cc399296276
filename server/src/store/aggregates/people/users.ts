import { defineAggregate } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { UserRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { StoreError } from '../../store-error.ts'

export interface UserReader {
  find(username: string): Promise<UserRecord | null>
  /** Teams that all tokens of `teams_synced_iat` name; null before the first. */
  claimedTeams(username: string): Promise<readonly string[] | null>
}

/** Since the last time that they were noted. */
export interface FailedSignIns {
  readonly wrong: number
  /** Refused before the password was looked at. */
  readonly throttled: number
  /** Some of the networks that they came from. */
  readonly networks: readonly string[]
}

export interface UserWriter extends UserReader {
  insert(user: Pick<UserRecord, 'username' | 'password_hash' | 'created_at'>): Promise<void>
  /** Raises the generation. Throws `ERR_STORE_NOT_FOUND`. */
  updatePassword(username: string, passwordHash: string | null): Promise<void>
  /**
   * Adds to the failed sign-ins; raises no revision and no generation. Throws
   * `ERR_STORE_NOT_FOUND`.
   */
  noteFailedSignIns(username: string, failures: FailedSignIns): Promise<void>
  /**
   * `issuedAt` of the newest tokens whose teams the user has, and the teams that all of them name.
   * Raises no revision and no generation. Throws `ERR_STORE_NOT_FOUND`.
   */
  noteTeamsSynced(username: string, issuedAt: number, names: readonly string[]): Promise<void>
  /**
   * Ends the sessions of an external issuer that were opened until `at`. Throws
   * `ERR_STORE_NOT_FOUND`.
   */
  endExternalSessions(username: string, at: string): Promise<void>
}

export const USERS = defineAggregate({
  tables: [
    { name: 'users', key: ['username'] },
    { name: 'team_claims', key: ['username'] },
  ],
  reader: createUserReader,
  writer: createUserWriter,
  events: auditUsers,
})

function auditUsers(users: UserWriter, { record }: ChangeRecorder): Writes<UserWriter, UserReader> {
  return {
    async insert(user) {
      await users.insert(user)
      const { username, created_at } = user
      await record({
        scope: { username },
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
        scope: { username },
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
        scope: { username },
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
        scope: { username },
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

function createUserReader(connection: Connection): UserReader {
  const find = connection.prepare<UserRecord>('SELECT * FROM users WHERE username = ?')
  const claimed = connection.prepare<{ names: string }>(
    'SELECT names FROM team_claims WHERE username = ?',
  )
  return {
    async claimedTeams(username) {
      const row = await claimed.get(username)
      return row === undefined ? null : (JSON.parse(row.names) as string[])
    },
    async find(username) {
      return (await find.get(username)) ?? null
    },
  }
}

function createUserWriter(connection: Connection): UserWriter {
  const insert = connection.prepare(
    'INSERT INTO users (username, password_hash, created_at) VALUES (?, ?, ?)',
  )
  const updatePassword = connection.prepare(
    `UPDATE users SET password_hash = ?, password_generation = password_generation + 1
     WHERE username = ?`,
  )
  const endExternalSessions = connection.prepare(
    'UPDATE users SET external_not_before = ? WHERE username = ?',
  )
  const noteFailedSignIns = connection.prepare(
    'UPDATE users SET failed_sign_ins = failed_sign_ins + ? WHERE username = ?',
    'progress',
  )
  const noteTeamsSynced = connection.prepare(
    'UPDATE users SET teams_synced_iat = ? WHERE username = ?',
    'progress',
  )
  const putClaimed = connection.prepare(
    `INSERT INTO team_claims (username, names) VALUES (?, ?)
     ON CONFLICT (username) DO UPDATE SET names = excluded.names`,
    'progress',
  )
  const requireUser = (changes: number, username: string): void => {
    if (changes === 0)
      throw new StoreError('ERR_STORE_NOT_FOUND', `user \`${username}\` does not exist`)
  }
  return {
    ...createUserReader(connection),
    async updatePassword(username, passwordHash) {
      requireUser(await updatePassword.run(passwordHash, username), username)
    },
    async noteFailedSignIns(username, { wrong, throttled }) {
      requireUser(await noteFailedSignIns.run(wrong + throttled, username), username)
    },
    async noteTeamsSynced(username, issuedAt, names) {
      requireUser(await noteTeamsSynced.run(issuedAt, username), username)
      await putClaimed.run(username, JSON.stringify(names))
    },
    async endExternalSessions(username, at) {
      requireUser(await endExternalSessions.run(at, username), username)
    },
    async insert(user) {
      await insert.run(user.username, user.password_hash, user.created_at)
    },
  }
}
