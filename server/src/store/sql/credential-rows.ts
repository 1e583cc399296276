import type { AccessTokenRecord, OrganizationTokenRecord, PersonalTokenRecord } from '../records.ts'
import type { AccessTokenReader, AccessTokenWriter, TokenPage } from '../contract/credentials.ts'
import type { Connection } from './connection.ts'

interface AccessTokenRow {
  readonly place: number
  readonly id: string
  readonly org: string | null
  readonly username: string | null
  readonly name: string
  readonly permissions: string
  readonly secret_hash: string
  readonly created_at: string
  readonly expires_at: string
  readonly revoked_at: string | null
  readonly parent_id: string | null
  readonly prefix: string | null
  readonly created_by: string | null
  readonly last_used_at: string | null
}

/** Revoked tokens stay in the table, so the place of each that was ever listed is known. */
const IN_PAGE = `revoked_at IS NULL AND expires_at > ?
  AND place > coalesce((SELECT place FROM access_tokens WHERE id = ?), 0) ORDER BY place LIMIT ?`

export function createAccessTokenReader(connection: Connection): AccessTokenReader {
  const find = connection.prepare<AccessTokenRow>('SELECT * FROM access_tokens WHERE id = ?')
  const findBySecretHash = connection.prepare<AccessTokenRow>(
    'SELECT * FROM access_tokens WHERE secret_hash = ?',
  )
  const listOfUser = connection.prepare<AccessTokenRow>(
    'SELECT * FROM access_tokens WHERE username = ? AND revoked_at IS NULL ORDER BY place',
  )
  const listOfOrganization = connection.prepare<AccessTokenRow>(
    'SELECT * FROM access_tokens WHERE org = ? AND revoked_at IS NULL ORDER BY place',
  )
  const pageOfUser = connection.prepare<AccessTokenRow>(
    `SELECT * FROM access_tokens WHERE username = ? AND ${IN_PAGE}`,
  )
  const pageOfOrganization = connection.prepare<AccessTokenRow>(
    `SELECT * FROM access_tokens WHERE org = ? AND ${IN_PAGE}`,
  )
  const countLiveOfUser = connection.prepare<{ total: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS total FROM access_tokens
     WHERE username = ? AND expires_at > ? AND revoked_at IS NULL`,
  )
  const countLiveOfOrganization = connection.prepare<{ total: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS total FROM access_tokens
     WHERE org = ? AND expires_at > ? AND revoked_at IS NULL`,
  )
  const countLiveMadeBy = connection.prepare<{ total: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS total FROM access_tokens
     WHERE created_by = ? AND org = ? AND expires_at > ? AND revoked_at IS NULL`,
  )
  const listMadeBy = connection.prepare<AccessTokenRow>(
    `SELECT * FROM access_tokens
     WHERE created_by = ? AND org IS NOT NULL AND revoked_at IS NULL ORDER BY place`,
  )
  return {
    async find(id) {
      const row = await find.get(id)
      return row === undefined ? null : toAccessToken(row)
    },
    async findBySecretHash(secretHash) {
      const row = await findBySecretHash.get(secretHash)
      return row === undefined ? null : toAccessToken(row)
    },
    async listOfUser(username) {
      return (await listOfUser.all(username)).map(toAccessToken).filter(isPersonal)
    },
    async listOfOrganization(org) {
      return (await listOfOrganization.all(org)).map(toAccessToken).filter(isOfOrganization)
    },
    async pageOfUser(username, page) {
      const rows = await pageOfUser.all(username, ...boundsOf(page))
      return rows.map(toAccessToken).filter(isPersonal)
    },
    async pageOfOrganization(org, page) {
      const rows = await pageOfOrganization.all(org, ...boundsOf(page))
      return rows.map(toAccessToken).filter(isOfOrganization)
    },
    async countLiveOfUser(username, at) {
      return (await countLiveOfUser.get(username, at))?.total ?? 0
    },
    async countLiveOfOrganization(org, at) {
      return (await countLiveOfOrganization.get(org, at))?.total ?? 0
    },
    async countLiveMadeBy(org, actor, at) {
      return (await countLiveMadeBy.get(actor, org, at))?.total ?? 0
    },
    async listMadeBy(actor) {
      return (await listMadeBy.all(actor)).map(toAccessToken).filter(isOfOrganization)
    },
  }
}

export function createAccessTokenWriter(connection: Connection): AccessTokenWriter {
  const insert = connection.prepare(`INSERT INTO access_tokens
       (id, org, username, name, permissions, secret_hash, created_at, expires_at, revoked_at,
        parent_id, prefix, created_by, last_used_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const touch = connection.prepare(
    'UPDATE access_tokens SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, ?) <= ?',
    'progress',
  )
  const revoke = connection.prepare<AccessTokenRow>(`WITH RECURSIVE family (id) AS (
       SELECT id FROM access_tokens WHERE id = ?
       UNION
       SELECT child.id FROM access_tokens AS child JOIN family ON child.parent_id = family.id
     )
     UPDATE access_tokens SET revoked_at = ?
     WHERE id IN (SELECT id FROM family) AND revoked_at IS NULL
     RETURNING *`)
  return {
    ...createAccessTokenReader(connection),
    async insert(token) {
      await insert.run(
        token.id,
        token.kind === 'organization' ? token.org : null,
        token.kind === 'personal' ? token.username : null,
        token.name,
        JSON.stringify(token.permissions),
        token.secret_hash,
        token.created_at,
        token.expires_at,
        token.revoked_at,
        token.parent_id,
        token.prefix,
        token.created_by,
        token.last_used_at,
      )
    },
    async touch(id, usedAt) {
      await touch.run(usedAt, id, usedAt, usedAt)
    },
    async revoke(id, revokedAt) {
      const rows = await revoke.all(id, revokedAt)
      return rows.toSorted((a, b) => a.place - b.place).map(toAccessToken)
    },
  }
}

function boundsOf({ expiresAfter, after, limit }: TokenPage) {
  return [expiresAfter, after, limit] as const
}

function isPersonal(token: AccessTokenRecord): token is PersonalTokenRecord {
  return token.kind === 'personal'
}

function isOfOrganization(token: AccessTokenRecord): token is OrganizationTokenRecord {
  return token.kind === 'organization'
}

function toAccessToken(row: AccessTokenRow): AccessTokenRecord {
  const { org, username, ...rest } = row
  const fields = {
    id: rest.id,
    name: rest.name,
    permissions: JSON.parse(rest.permissions) as AccessTokenRecord['permissions'],
    secret_hash: rest.secret_hash,
    created_at: rest.created_at,
    expires_at: rest.expires_at,
    revoked_at: rest.revoked_at,
    parent_id: rest.parent_id,
    prefix: rest.prefix,
    created_by: rest.created_by,
    last_used_at: rest.last_used_at,
  }
  if (username !== null) return { kind: 'personal', username, ...fields }
  // INVARIANT: the table's CHECK gives every token exactly one of the two.
  return { kind: 'organization', org: org ?? '', ...fields }
}
