import { QUESTION_POINT } from '@palisade/protocol'
import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceStore } from '../evidence-store.ts'
import { toStorable } from './storable-text.ts'
import type { DaySpan } from './widen-days.ts'

/** Records that one look-up of a day reads. */
const MOST_RECORDS = 200
/** Tuples of a rule that one statement tests: a machine may make very many that are old now. */
const TUPLES_IN_A_TURN = 5_000

interface MatchedTuple extends DaySpan {
  readonly id: number
}

type FindTuples = (
  rule: { readonly org: number; readonly id: string },
  from: number,
  most: number,
) => Promise<readonly MatchedTuple[]>

/** The newest tuples of requests with a rule that have a row on a day or later. */
function createFindTuples(
  connection: Connection,
  table: 'tuple_rules' | 'shadow_rules',
  pause: () => Promise<void>,
): FindTuples {
  const below = `SELECT tuple FROM ${table} WHERE org = ? AND rule_id = ? AND tuple < ?
    ORDER BY tuple DESC`
  const find = connection.prepare<MatchedTuple>(
    `SELECT t.id, t.first_day, t.last_day FROM (${below} LIMIT ${TUPLES_IN_A_TURN}) x
     CROSS JOIN tuples t
     WHERE t.id = x.tuple AND t.last_day >= ? AND t.point <> '${QUESTION_POINT}'
     ORDER BY x.tuple DESC LIMIT ?`,
  )
  const endOfTurn = connection.prepare<{ readonly tuple: number }>(
    `${below} LIMIT 1 OFFSET ${TUPLES_IN_A_TURN - 1}`,
  )
  return async ({ org, id }, from, most) => {
    const found: MatchedTuple[] = []
    let last = Number.MAX_SAFE_INTEGER
    for (;;) {
      found.push(...(await find.all(org, id, last, from, most - found.length)))
      if (found.length >= most) return found
      const end = await endOfTurn.get(org, id, last)
      if (end === undefined) return found
      last = end.tuple
      await pause()
    }
  }
}

/** Looks at the newest tuples first: a rule that is in use takes one look-up. */
export function createFindRuleUse(
  connection: Connection,
  pause: () => Promise<void>,
): EvidenceStore['ruleUse'] {
  const findOrg = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const decided = createFindTuples(connection, 'tuple_rules', pause)
  const shadowed = createFindTuples(connection, 'shadow_rules', pause)
  // Without the name of an index, SQLite reads the whole day.
  const findDevices = connection.prepare<{ readonly device_id: string; readonly records: number }>(
    `SELECT s.device_id, CAST(COUNT(*) AS BIGINT) AS records FROM
       (SELECT source FROM records INDEXED BY records_tuple
        WHERE day = ? AND org = ? AND tuple = ? LIMIT ${MOST_RECORDS}) r
     CROSS JOIN sources s WHERE s.id = r.source GROUP BY s.device_id`,
  )

  return async (name, ruleId, { day: from, seeks }) => {
    const org = await findOrg.get(name)
    if (org === undefined) return { devices: [], isComplete: true, isShadowed: false }
    const rule = { org: org.id, id: toStorable(ruleId) }
    const isShadowed = (await shadowed(rule, from, 1)).length > 0
    const tuples = await decided(rule, from, seeks + 1)
    const devices = new Set<string>()
    let isComplete = true
    let left = seeks
    for (const { id, first_day, last_day } of tuples)
      for (let day = last_day; day >= Math.max(first_day, from); day -= 1) {
        if (left === 0) return { devices: [...devices], isComplete: false, isShadowed }
        left -= 1
        const found = await findDevices.all(day, org.id, id)
        for (const { device_id } of found) devices.add(device_id)
        if (found.reduce((sum, { records }) => sum + records, 0) === MOST_RECORDS)
          isComplete = false
      }
    return { devices: [...devices], isComplete, isShadowed }
  }
}
