import type { UploadedRule } from '@palisade/protocol'
import type { Value } from '../../../store/sql/connection.ts'
import { createSelectIn } from '../../../store/sql/select-in.ts'
import type { EvidenceRow } from '../evidence-record.ts'
import { dayOf } from './day.ts'
import { toStorable } from './storable-text.ts'
import { hashTuple, TUPLE_COLUMNS, tupleColumns, type HashedTuple } from './tuple-columns.ts'
import { createWidenDays, type DaySpan } from './widen-days.ts'
import type { StoredTuple, WritingSession } from './writing-session.ts'

/** A tuple of a batch, and the days of its rows there. */
interface BatchTuple extends HashedTuple, DaySpan {}

interface KnownTuple extends StoredTuple {
  readonly hash: string
}

interface UnknownTuple {
  readonly hash: string
  readonly id: null
}

/** Tuples of a batch, by their row. */
export interface TupleFiling {
  /** Looks up the tuples of a batch; takes no lock. */
  find(org: number, rows: readonly EvidenceRow[]): Promise<FoundTuples>
  /**
   * Stores the tuples that are not there, by ascending hash: two batches with the same ones so wait
   * for each other, and never each for the other.
   */
  insert(org: number, found: FoundTuples): Promise<FoundTuples>
  /**
   * Widens the days of all of them, which batches of the organization must do one after the other.
   * Returns the id of each row's tuple.
   */
  widen(org: number, inserted: FoundTuples): Promise<readonly number[]>
}

export interface FoundTuples {
  /** The hash of each row's tuple. */
  readonly hashes: readonly string[]
  readonly tuples: ReadonlyMap<string, BatchTuple>
  readonly known: ReadonlyMap<string, StoredTuple>
}

export function createTupleFiling(session: WritingSession): TupleFiling {
  const { connection, memory } = session
  // PostgreSQL has no statistics of a new table, and takes any index of the organization for as
  // good as the unique one. Only that one has the order, which an equal hash would make needless.
  const member = (name: string): string =>
    `(SELECT ${name} FROM tuples
      WHERE org = ? AND hash >= wanted.column1 AND hash <= wanted.column1
      ORDER BY hash LIMIT 1) AS ${name}`
  const select = createSelectIn<KnownTuple | UnknownTuple>(
    connection,
    (list) =>
      `SELECT wanted.column1 AS hash, ${member('id')}, ${member('first_day')},
         ${member('last_day')}
       FROM (VALUES ${list.replaceAll('?', '(?)')}) AS wanted`,
  )
  const insert = session.insertInto(
    { name: 'tuples', effect: 'everything', conflict: 'ON CONFLICT DO NOTHING' },
    [
      { name: 'org', type: 'BIGINT' },
      { name: 'first_day', type: 'BIGINT' },
      { name: 'last_day', type: 'BIGINT' },
      ...TUPLE_COLUMNS,
    ],
  )
  const insertRulesInto = (name: 'tuple_rules' | 'shadow_rules') =>
    session.insertInto({ name, effect: 'everything', conflict: 'ON CONFLICT DO NOTHING' }, [
      { name: 'org', type: 'BIGINT' },
      { name: 'rule_id', type: 'TEXT' },
      { name: 'tuple', type: 'BIGINT' },
    ])
  const insertRules = insertRulesInto('tuple_rules')
  const insertShadowRules = insertRulesInto('shadow_rules')
  const widenDays = createWidenDays(connection, 'tuples')

  async function selectKnown(org: number, hashes: readonly string[]) {
    const rows = await select([org, org, org], hashes)
    return new Map<string, StoredTuple>(
      rows.flatMap((row) => (row.id === null ? [] : [[row.hash, row]])),
    )
  }

  function remembered(org: number, hashes: Iterable<string>) {
    const known = new Map<string, StoredTuple>()
    for (const hash of hashes) {
      const tuple = memory?.get(org, hash)
      if (tuple !== undefined) known.set(hash, tuple)
    }
    return known
  }

  async function insertMissing(org: number, missing: readonly BatchTuple[]) {
    await insert.run(
      missing.map((tuple) => [org, tuple.first_day, tuple.last_day, ...tupleColumns(tuple)]),
    )
    const made = await selectKnown(
      org,
      missing.map(({ hash }) => hash),
    )
    const rowsOf = (rules: readonly UploadedRule[], hash: string): Value[][] =>
      rules.map(({ rule_id }) => [org, toStorable(rule_id), made.get(hash)?.id ?? null])
    await insertRules.run(missing.flatMap(({ hash, tuple }) => rowsOf(tuple.rules, hash)))
    const shadows = missing.flatMap(({ hash, tuple }) => rowsOf(tuple.shadow?.rules ?? [], hash))
    if (shadows.length > 0) await insertShadowRules.run(shadows)
    return made
  }

  return {
    async find(org, rows) {
      const { hashes, tuples } = collectTuples(rows)
      const known = remembered(org, tuples.keys())
      const others = [...tuples.keys()].filter((hash) => !known.has(hash))
      for (const [hash, tuple] of await selectKnown(org, others)) known.set(hash, tuple)
      return { hashes, tuples, known }
    },
    async insert(org, found) {
      const missing = missingTuples(found)
      if (missing.length === 0) return found
      const sorted = missing.toSorted((one, other) => (one.hash < other.hash ? -1 : 1))
      return { ...found, known: new Map([...found.known, ...(await insertMissing(org, sorted))]) }
    },
    async widen(org, { hashes, tuples, known: stored }) {
      const widenings = [...tuples.values()].flatMap((wanted) => {
        const tuple = stored.get(wanted.hash)
        return tuple === undefined ? [] : [{ stored: tuple, wanted }]
      })
      await widenDays(widenings)
      for (const { stored: tuple, wanted } of widenings)
        memory?.set(org, wanted.hash, {
          id: tuple.id,
          first_day: Math.min(tuple.first_day, wanted.first_day),
          last_day: Math.max(tuple.last_day, wanted.last_day),
        })
      return hashes.map((hash) => stored.get(hash)?.id ?? 0)
    },
  }
}

/** The tuples that are not stored yet. */
export function missingTuples({ tuples, known }: FoundTuples): readonly BatchTuple[] {
  return [...tuples.values()].filter(({ hash }) => !known.has(hash))
}

function collectTuples(rows: readonly EvidenceRow[]): Pick<FoundTuples, 'hashes' | 'tuples'> {
  const tuples = new Map<string, BatchTuple>()
  const hashes = rows.map(({ tuple, last_ms }) => {
    const hashed = hashTuple(tuple)
    const day = dayOf(last_ms)
    const { first_day = day, last_day = day } = tuples.get(hashed.hash) ?? {}
    tuples.set(hashed.hash, {
      ...hashed,
      first_day: Math.min(first_day, day),
      last_day: Math.max(last_day, day),
    })
    return hashed.hash
  })
  return { hashes, tuples }
}
