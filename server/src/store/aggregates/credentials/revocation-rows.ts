import type { Connection, Value } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'

/** Tokens that are revoked in one transaction, each with an event; others are pending. */
export const AT_ONCE = 100

/** Tokens that count as revoked, some of them not marked yet. */
export interface Revocation {
  readonly kind: 'child' | 'personal' | 'made' | 'enrolment'
  /** Empty for tokens of several organizations, and for personal ones. */
  readonly org: string
  /** The id of an access token, a username, or an actor. */
  readonly key: string
  /** The last of them, by its place. */
  readonly through: number
  readonly revoked_at: string
}

/** A row of `access_tokens` that is marked. */
interface Marked {
  readonly place: number
  readonly id: string
}

/** Kinds of pending revocations of access tokens. */
export const ACCESS_TOKEN_KINDS = ['child', 'personal', 'made'] as const
const NEVER_ENDING = Number.MAX_SAFE_INTEGER

/**
 * When the access token `t` was revoked: by itself, with one that it descends from, or with all of
 * its maker. Without pending revocations every revoked token is marked, and no line is followed.
 */
export const ENDED_AT = `CASE
  WHEN t.revoked_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM pending_revocations)
  THEN t.revoked_at
  ELSE ${endOfLine('t.id')}
END`

/** Null unless a token of the line from access token `id` upwards was revoked. */
export function endOfLine(id: string): string {
  return `(WITH RECURSIVE line (parent_id, org, username, created_by, place, revoked_at) AS (
    SELECT a.parent_id, a.org, a.username, a.created_by, a.place, a.revoked_at
      FROM access_tokens a WHERE a.id = ${id}
    UNION ALL
    SELECT p.parent_id, p.org, p.username, p.created_by, p.place, p.revoked_at
      FROM access_tokens p JOIN line ON p.id = line.parent_id
  )
  SELECT min(coalesce(line.revoked_at, made.revoked_at, own.revoked_at)) FROM line
  LEFT JOIN pending_revocations made ON made.kind = 'made'
    AND made.org = line.org AND made.key = line.created_by AND line.place <= made.through
  LEFT JOIN pending_revocations own ON own.kind = 'personal'
    AND own.org = '' AND own.key = line.username AND line.place <= own.through)`
}

/** The pending revocations, in any order. */
export function createPending(connection: Connection, kinds: readonly Revocation['kind'][]) {
  const list = kinds.map((kind) => `'${kind}'`).join()
  const first = connection.prepare<Revocation>(
    `SELECT * FROM pending_revocations WHERE kind IN (${list}) ORDER BY kind, org, key LIMIT 1`,
  )
  const keep = connection.prepare(
    `INSERT INTO pending_revocations (kind, org, key, through, revoked_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (kind, org, key) DO UPDATE SET through = excluded.through`,
  )
  const end = connection.prepare(
    'DELETE FROM pending_revocations WHERE kind = ? AND org = ? AND key = ?',
  )
  return {
    first: () => first.get(),
    async keep({ kind, org, key, through, revoked_at }: Revocation): Promise<void> {
      await keep.run(kind, org, key, through, revoked_at)
    },
    async end({ kind, org, key }: Revocation): Promise<void> {
      await end.run(kind, org, key)
    },
  }
}

/**
 * Marks access tokens as revoked, a few at a time: first those of `revocations`, then their
 * descendants. The rest is pending. Returns the rows, by place.
 */
export function createMarkRevoked<Row extends Marked>(
  connection: Connection,
): (revocations: readonly Revocation[], most: number) => Promise<Row[]> {
  const pending = createPending(connection, ACCESS_TOKEN_KINDS)
  const mark = (which: string) =>
    connection.prepare<Row>(
      `UPDATE access_tokens SET revoked_at = ? WHERE id IN (
         SELECT id FROM access_tokens WHERE ${which} AND place <= ? AND revoked_at IS NULL
         ORDER BY place LIMIT ?)
       RETURNING *`,
    )
  const markChildren = mark('parent_id = ?')
  const markPersonal = mark('username = ?')
  const markMade = mark('org = ? AND created_by = ?')
  const findParents = createSelectIn<{ readonly id: string }>(
    connection,
    (ids) =>
      `SELECT DISTINCT parent_id AS id FROM access_tokens
       WHERE revoked_at IS NULL AND parent_id IN (${ids})`,
  )

  function markNext({ kind, org, key, through, revoked_at }: Revocation, most: number) {
    const bounds: Value[] = [key, through, most]
    if (kind === 'child') return markChildren.all(revoked_at, ...bounds)
    if (kind === 'personal') return markPersonal.all(revoked_at, ...bounds)
    return markMade.all(revoked_at, org, ...bounds)
  }

  return async (revocations, most) => {
    const waiting = [...revocations]
    const marked: Row[] = []
    for (let [next] = waiting; next !== undefined && marked.length < most; [next] = waiting) {
      const rows = await markNext(next, most - marked.length)
      marked.push(...rows)
      if (marked.length < most) waiting.shift()
      const { revoked_at } = next
      const ids = rows.map(({ id }) => id)
      for (const { id } of await findParents([], ids)) waiting.push(childrenOf(id, revoked_at))
    }
    for (const left of waiting) await pending.keep(left)
    return marked.toSorted((a, b) => a.place - b.place)
  }
}

/** Everything that was made with the access token, which can make no more. */
export function childrenOf(id: string, revoked_at: string): Revocation {
  return { kind: 'child', org: '', key: id, through: NEVER_ENDING, revoked_at }
}
