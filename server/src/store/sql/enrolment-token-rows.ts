import type { EnrolmentTokenReader, EnrolmentTokenWriter } from '../contract/credentials.ts'
import type { EnrolmentTokenRecord } from '../distribution-records.ts'
import type { Connection } from './connection.ts'
import { AT_ONCE, createPending, endOfLine, type Revocation } from './revocation-rows.ts'

type Row = Omit<EnrolmentTokenRecord, 'labels'> & {
  readonly place: number
  readonly labels: string
}

const IS_LIVE = `revoked_at IS NULL AND (parent_id IS NULL OR EXISTS
  (SELECT 1 FROM access_tokens p WHERE p.id = enrolment_tokens.parent_id AND p.revoked_at IS NULL))`

/** The same while revocations are pending. */
const IS_USABLE = `${IS_LIVE} AND (NOT EXISTS (SELECT 1 FROM pending_revocations) OR (
  NOT EXISTS (SELECT 1 FROM pending_revocations made WHERE made.kind = 'enrolment'
    AND made.org = enrolment_tokens.org AND made.key = enrolment_tokens.created_by
    AND enrolment_tokens.place <= made.through)
  AND ${endOfLine('enrolment_tokens.parent_id')} IS NULL))`

export function createEnrolmentTokenReader(connection: Connection): EnrolmentTokenReader {
  const findBySecretHash = connection.prepare<Row>(
    `SELECT * FROM enrolment_tokens WHERE secret_hash = ? AND ${IS_USABLE}`,
  )
  const list = connection.prepare<Row>(
    `SELECT * FROM enrolment_tokens WHERE org = ? AND ${IS_LIVE} ORDER BY place`,
  )
  const page = connection.prepare<Row>(
    `SELECT * FROM enrolment_tokens WHERE org = ? AND expires_at > ? AND ${IS_LIVE}
       AND place > coalesce((SELECT t.place FROM enrolment_tokens t WHERE t.id = ?), 0)
     ORDER BY place LIMIT ?`,
  )
  const find = connection.prepare<Row>(
    `SELECT * FROM enrolment_tokens WHERE org = ? AND id = ? AND ${IS_USABLE}`,
  )
  const countLive = connection.prepare<{ total: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS total FROM enrolment_tokens
     WHERE org = ? AND expires_at > ? AND ${IS_LIVE}`,
  )
  return {
    async countLive(org, at) {
      return (await countLive.get(org, at))?.total ?? 0
    },
    async findBySecretHash(secretHash) {
      const row = await findBySecretHash.get(secretHash)
      return row === undefined ? null : toEnrolmentToken(row)
    },
    async find(org, id) {
      const row = await find.get(org, id)
      return row === undefined ? null : toEnrolmentToken(row)
    },
    async page(org, { expiresAfter, after, limit }) {
      return (await page.all(org, expiresAfter, after, limit)).map(toEnrolmentToken)
    },
    async list(org) {
      return (await list.all(org)).map(toEnrolmentToken)
    },
  }
}

export function createEnrolmentTokenWriter(connection: Connection): EnrolmentTokenWriter {
  const insert = connection.prepare(`INSERT INTO enrolment_tokens
       (id, org, name, labels, secret_hash, prefix, root_version, max_uses, uses, last_used_at,
        created_at, created_by, parent_id, expires_at, revoked_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const use = connection.prepare<Row>(
    `UPDATE enrolment_tokens SET uses = uses + 1, last_used_at = ?
     WHERE id = ? AND uses < max_uses AND ${IS_USABLE} RETURNING *`,
  )
  const revoke = connection.prepare<Row>(
    `UPDATE enrolment_tokens SET revoked_at = ?
     WHERE org = ? AND id = ? AND revoked_at IS NULL RETURNING *`,
  )
  const markMade = connection.prepare<Row>(
    `UPDATE enrolment_tokens SET revoked_at = ? WHERE id IN (
       SELECT id FROM enrolment_tokens
       WHERE org = ? AND created_by = ? AND place <= ? AND revoked_at IS NULL
       ORDER BY place LIMIT ${AT_ONCE})
     RETURNING *`,
  )
  const last = connection.prepare<{ through: number | null }>(
    'SELECT max(place) AS through FROM enrolment_tokens',
  )
  const pending = createPending(connection, ['enrolment'])

  async function markRevoked(made: Revocation): Promise<EnrolmentTokenRecord[]> {
    const { org, key, through, revoked_at } = made
    const rows = await markMade.all(revoked_at, org, key, through)
    if (rows.length === AT_ONCE) await pending.keep(made)
    return rows.toSorted((a, b) => a.place - b.place).map(toEnrolmentToken)
  }
  return {
    ...createEnrolmentTokenReader(connection),
    async insert(token) {
      await insert.run(
        token.id,
        token.org,
        token.name,
        JSON.stringify(token.labels),
        token.secret_hash,
        token.prefix,
        token.root_version,
        token.max_uses,
        token.uses,
        token.last_used_at,
        token.created_at,
        token.created_by,
        token.parent_id,
        token.expires_at,
        token.revoked_at,
      )
    },
    async use(id, usedAt) {
      const row = await use.get(usedAt, id)
      return row === undefined ? null : toEnrolmentToken(row)
    },
    async revoke(org, id, revokedAt) {
      const row = await revoke.get(revokedAt, org, id)
      return row === undefined ? null : toEnrolmentToken(row)
    },
    async revokeMadeBy(org, actor, revokedAt) {
      const through = (await last.get())?.through ?? 0
      return markRevoked({ kind: 'enrolment', org, key: actor, through, revoked_at: revokedAt })
    },
    async revokePending() {
      const next = await pending.first()
      if (next === undefined) return null
      await pending.end(next)
      return markRevoked(next)
    },
  }
}

function toEnrolmentToken({ place: _place, labels, ...row }: Row): EnrolmentTokenRecord {
  return { ...row, labels: JSON.parse(labels) as EnrolmentTokenRecord['labels'] }
}
