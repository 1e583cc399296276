import type { AccessTokenReader, AccessTokenWriter, TokenPage } from './access-token-contract.ts'
import {
  ACCESS_TOKEN_KINDS,
  AT_ONCE,
  ENDED_AT,
  childrenOf,
  createMarkRevoked,
  createPending,
} from './revocation-rows.ts'
import type {
  AccessTokenRecord,
  OrganizationTokenRecord,
  PersonalTokenRecord,
} from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'

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
  readonly prefix: string
  readonly created_by: string
  readonly last_used_at: string | null
}

interface FoundRow extends AccessTokenRow {
  readonly ended_at: string | null
}

/** Revoked tokens stay in the table, so the position of each that was ever listed is known. */
const IN_PAGE = `revoked_at IS NULL AND expires_at > ?
  AND place > coalesce((SELECT place FROM access_tokens WHERE id = ?), 0) ORDER BY place LIMIT ?`

export function createAccessTokenReader(connection: Connection): AccessTokenReader {
  const find = connection.prepare<FoundRow>(
    `SELECT t.*, ${ENDED_AT} AS ended_at FROM access_tokens t WHERE t.id = ?`,
  )
  const findBySecretHash = connection.prepare<FoundRow>(
    `SELECT t.*, ${ENDED_AT} AS ended_at FROM access_tokens t WHERE t.secret_hash = ?`,
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
  const rootOf = connection.prepare<{ id: string }>(
    `WITH RECURSIVE line (id, parent_id) AS (
       SELECT id, parent_id FROM access_tokens WHERE id = ?
       UNION ALL
       SELECT p.id, p.parent_id FROM access_tokens p JOIN line ON p.id = line.parent_id
     )
     SELECT id FROM line WHERE parent_id IS NULL`,
  )
  const anyPending = connection.prepare('SELECT 1 FROM pending_revocations LIMIT 1')
  return {
    async hasPending() {
      return (await anyPending.get()) !== undefined
    },
    async find(id) {
      return toFound(await find.get(id))
    },
    async findBySecretHash(secretHash) {
      return toFound(await findBySecretHash.get(secretHash))
    },
    async rootOf(id) {
      return (await rootOf.get(id))?.id ?? id
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
  const revoke = connection.prepare<AccessTokenRow>(
    'UPDATE access_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING *',
  )
  const lastMade = connection.prepare<{ through: number | null }>(
    `SELECT max(place) AS through FROM access_tokens
     WHERE created_by = ? AND org IS NOT NULL AND revoked_at IS NULL`,
  )
  const markRevoked = createMarkRevoked<AccessTokenRow>(connection)
  const pending = createPending(connection, ACCESS_TOKEN_KINDS)
  const lastOfUser = connection.prepare<{ through: number | null }>(
    'SELECT max(place) AS through FROM access_tokens WHERE username = ? AND revoked_at IS NULL',
  )
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
      const [row] = await revoke.all(revokedAt, id)
      if (row === undefined) return []
      const others = await markRevoked([childrenOf(id, revokedAt)], AT_ONCE)
      return [row, ...others].map(toAccessToken)
    },
    async revokeMadeBy(org, actor, revokedAt) {
      const through = (await lastMade.get(actor))?.through ?? 0
      const made = { kind: 'made', org, key: actor, through } as const
      return (await markRevoked([{ ...made, revoked_at: revokedAt }], AT_ONCE)).map(toAccessToken)
    },
    async revokeOfUser(username, revokedAt) {
      const through = (await lastOfUser.get(username))?.through ?? 0
      const own = { kind: 'personal', org: '', key: username, through } as const
      return (await markRevoked([{ ...own, revoked_at: revokedAt }], AT_ONCE)).map(toAccessToken)
    },
    async revokePending() {
      const next = await pending.first()
      if (next === undefined) return null
      await pending.end(next)
      return (await markRevoked([next], AT_ONCE)).map(toAccessToken)
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

function toFound(row: FoundRow | undefined): AccessTokenRecord | null {
  return row === undefined ? null : toAccessToken({ ...row, revoked_at: row.ended_at })
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
