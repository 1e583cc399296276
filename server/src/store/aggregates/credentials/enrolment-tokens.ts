import { defineAggregate } from '../aggregate.ts'
import type { TokenPage } from './access-token-contract.ts'
import { AT_ONCE, createPending, endOfLine, type Revocation } from './revocation-rows.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { EnrolmentTokenRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'

/** A token counts as revoked, too, when the access token that it descends from is. */
export interface EnrolmentTokenReader {
  /** Null for one that is revoked. */
  find(org: string, id: string): Promise<EnrolmentTokenRecord | null>
  findBySecretHash(secretHash: string): Promise<EnrolmentTokenRecord | null>
  /** Not revoked, by creation; expired and used up ones too. */
  list(org: string): Promise<EnrolmentTokenRecord[]>
  page(org: string, page: TokenPage): Promise<EnrolmentTokenRecord[]>
  /** Neither revoked by itself nor over at `at` (`Date.toISOString`). */
  countLive(org: string, at: string): Promise<number>
}

export interface EnrolmentTokenWriter extends EnrolmentTokenReader {
  insert(token: EnrolmentTokenRecord): Promise<void>
  /** Counts one more use. Returns null and counts no use when the token is used up or revoked. */
  use(id: string, usedAt: string): Promise<EnrolmentTokenRecord | null>
  /** Returns the token that this call revokes; null when it was revoked before. */
  revoke(org: string, id: string, revokedAt: string): Promise<EnrolmentTokenRecord | null>
  /**
   * Revokes the tokens of the organization whose `created_by` is `actor`; answers the first hundred
   * by creation. Others are found no more and stay in counts until `revokePending`.
   */
  revokeMadeBy(org: string, actor: string, revokedAt: string): Promise<EnrolmentTokenRecord[]>
  /** Marks a hundred more of those that are revoked already; null without pending ones. */
  revokePending(): Promise<EnrolmentTokenRecord[] | null>
}

export const ENROLMENT_TOKENS = defineAggregate({
  tables: [{ name: 'enrolment_tokens', key: ['place'] }],
  reader: createEnrolmentTokenReader,
  writer: createEnrolmentTokenWriter,
  events: auditEnrolmentTokens,
})

function auditEnrolmentTokens(
  tokens: EnrolmentTokenWriter,
  { record }: ChangeRecorder,
): Writes<EnrolmentTokenWriter, EnrolmentTokenReader> {
  async function recordRevoked(token: EnrolmentTokenRecord): Promise<void> {
    const before = showEnrolmentToken({ ...token, revoked_at: null })
    const change = { ...ofEnrolmentToken(token), kind: 'enrolment_token.revoked' as const }
    await record({ ...change, before, after: showEnrolmentToken(token) })
  }

  return {
    // Each use is in the history as the device that was enrolled by it.
    use: (id, usedAt) => tokens.use(id, usedAt),
    async insert(token) {
      await tokens.insert(token)
      const change = { ...ofEnrolmentToken(token), kind: 'enrolment_token.created' as const }
      await record({ ...change, before: null, after: showEnrolmentToken(token) })
    },
    async revoke(org, id, revokedAt) {
      const token = await tokens.revoke(org, id, revokedAt)
      if (token !== null) await recordRevoked(token)
      return token
    },
    async revokeMadeBy(org, actor, revokedAt) {
      const revoked = await tokens.revokeMadeBy(org, actor, revokedAt)
      for (const token of revoked) await recordRevoked(token)
      return revoked
    },
    async revokePending() {
      const revoked = await tokens.revokePending()
      for (const token of revoked ?? []) await recordRevoked(token)
      return revoked
    },
  }
}

function ofEnrolmentToken({ id, org, name }: EnrolmentTokenRecord) {
  return { scope: { org }, subject: { id, name } }
}

function showEnrolmentToken(token: EnrolmentTokenRecord) {
  const { id, name, labels, max_uses, created_at, created_by, parent_id } = token
  const { expires_at, revoked_at } = token
  return {
    id,
    name,
    created_by,
    parent_id,
    labels: [...labels],
    max_uses,
    created_at,
    expires_at,
    ...(revoked_at === null ? {} : { revoked_at }),
  }
}

type Row = Omit<EnrolmentTokenRecord, 'labels'> & {
  readonly place: number
  readonly labels: string
}

const IS_LIVE = `revoked_at IS NULL AND (parent_id IS NULL OR EXISTS
  (SELECT 1 FROM access_tokens p WHERE p.id = enrolment_tokens.parent_id AND p.revoked_at IS NULL))`

/** Tells a live token also while revocations are pending. */
const IS_USABLE = `${IS_LIVE} AND (NOT EXISTS (SELECT 1 FROM pending_revocations) OR (
  NOT EXISTS (SELECT 1 FROM pending_revocations made WHERE made.kind = 'enrolment'
    AND made.org = enrolment_tokens.org AND made.key = enrolment_tokens.created_by
    AND enrolment_tokens.place <= made.through)
  AND ${endOfLine('enrolment_tokens.parent_id')} IS NULL))`

function createEnrolmentTokenReader(connection: Connection): EnrolmentTokenReader {
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

function createEnrolmentTokenWriter(connection: Connection): EnrolmentTokenWriter {
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
