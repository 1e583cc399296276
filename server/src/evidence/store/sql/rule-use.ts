import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceStore } from '../evidence-store.ts'
import { toStorable } from './storable-text.ts'
import type { DaySpan } from './widen-days.ts'

/** Records that one look-up of a day reads. */
const MOST_RECORDS = 200

interface MatchedTuple extends DaySpan {
  readonly id: number
}

/** Looks at the newest tuples first: a rule that is in use takes one look-up. */
export function createFindRuleUse(connection: Connection): EvidenceStore['ruleUse'] {
  const findOrg = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const findTuples = (table: 'tuple_rules' | 'shadow_rules') =>
    connection.prepare<MatchedTuple>(
      `SELECT t.id, t.first_day, t.last_day FROM ${table} x CROSS JOIN tuples t
       WHERE x.org = ? AND x.rule_id = ? AND t.id = x.tuple AND t.last_day >= ?
       ORDER BY x.tuple DESC LIMIT ?`,
    )
  const decided = findTuples('tuple_rules')
  const shadowed = findTuples('shadow_rules')
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
    const rule = toStorable(ruleId)
    const isShadowed = (await shadowed.get(org.id, rule, from, 1)) !== undefined
    const tuples = await decided.all(org.id, rule, from, seeks + 1)
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
