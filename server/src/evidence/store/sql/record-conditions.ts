import type { Value } from '../../../store/sql/connection.ts'
import type { EvidenceFilter } from '../evidence-store.ts'
import { indexedPart } from './evidence-schema.ts'
import { toStorable } from './storable-text.ts'
import { foldText } from './tuple-columns.ts'

/** A part of a WHERE clause; `sql` depends on which filters are set, never on their values. */
export interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Joined by AND, each with AND before it. */
export function joinConditions(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => ` AND ${sql}`).join(''),
    values: conditions.flatMap(({ values }) => values),
  }
}

/** Conditions on a row `s` of `sources`; all have an index. */
export function sourceConditions(filter: EvidenceFilter): Condition[] {
  return [
    ...equals('s.device_id', filter.device_id),
    ...equals('s.username', filter.username),
    ...equals('s.session', filter.session),
  ]
}

/** Conditions on a row `t` of `tuples` that an index finds. */
export function indexedTupleConditions(org: number, filter: EvidenceFilter): Condition[] {
  return [
    ...(filter.program === null ? [] : isProgram(toStorable(filter.program))),
    ...(filter.rule_id === null ? [] : [hasRule(org, filter.rule_id)]),
    ...(filter.resource === null ? [] : beginsWith(toStorable(filter.resource))),
  ]
}

/** Tuples that one index finds: a part of a FROM clause, with the index for SQLite. */
export interface IndexedTuples {
  readonly from: string
  readonly conditions: readonly Condition[]
}

/** One for each part of `indexedTupleConditions`. */
export function indexedTuples(org: number, filter: EvidenceFilter): IndexedTuples[] {
  const { rule_id, program, resource } = filter
  const found: IndexedTuples[] = []
  if (rule_id !== null) {
    const sql = 'x.org = ? AND x.rule_id = ? AND t.id = x.tuple'
    const conditions = [{ sql, values: [org, toStorable(rule_id)] }]
    found.push({ from: 'tuple_rules x CROSS JOIN tuples t', conditions })
  }
  if (program !== null) {
    const conditions = isProgram(toStorable(program))
    found.push({ from: 'tuples t INDEXED BY tuples_program', conditions })
  }
  if (resource !== null) {
    const conditions = beginsWith(toStorable(resource))
    found.push({ from: 'tuples t INDEXED BY tuples_target', conditions })
  }
  return found
}

/** Other conditions on a row `t` of `tuples`. */
export function otherTupleConditions(filter: EvidenceFilter): Condition[] {
  return [
    ...equals('t.decision', filter.decision),
    ...equals('t.shadow_decision', filter.shadow ?? null),
    ...(filter.actions === null ? [] : [isOneOf('t.action', filter.actions)]),
    ...isInMode(filter.mode),
    ...(filter.text === null ? [] : [contains(toStorable(filter.text))]),
  ]
}

function equals(column: string, value: string | null): Condition[] {
  return value === null ? [] : [{ sql: `${column} = ?`, values: [toStorable(value)] }]
}

/** The reason `observed` is that of the mode `audit`. */
function isInMode(mode: EvidenceFilter['mode']): Condition[] {
  if (mode === null) return []
  return [{ sql: `t.reason ${mode === 'audit' ? '=' : '<>'} ?`, values: ['observed'] }]
}

/** Looked up for each tuple: a rule may have very many. */
function hasRule(org: number, ruleId: string): Condition {
  return {
    sql: `EXISTS (SELECT 1 FROM tuple_rules x
       WHERE x.org = ? AND x.rule_id = ? AND x.tuple = t.id)`,
    values: [org, toStorable(ruleId)],
  }
}

/** Filled up to a power of two, so there are few different statements. */
function isOneOf(column: string, wanted: readonly (string | null)[]): Condition {
  const texts = wanted.filter((each) => each !== null)
  const orNull = texts.length < wanted.length ? `${column} IS NULL` : '1 = 0'
  if (texts.length === 0) return { sql: orNull, values: [] }
  const size = 2 ** Math.ceil(Math.log2(texts.length))
  const values = Array.from({ length: size }, (_, index) =>
    toStorable(texts[Math.min(index, texts.length - 1)] ?? ''),
  )
  return { sql: `(${column} IN (${values.map(() => '?').join()}) OR ${orNull})`, values }
}

/** The first condition is for the index, which has the beginning of long texts. */
function isProgram(program: string): Condition[] {
  return [
    { sql: `${indexedPart('t.program')} = ${indexedPart('?')}`, values: [program] },
    { sql: 't.program = ?', values: [program] },
  ]
}

/** Both databases compare by code points. Beginnings of texts are in the order of the texts. */
function beginsWith(prefix: string): Condition[] {
  const end = textAfter(prefix)
  return [
    { sql: `${indexedPart('t.target')} >= ${indexedPart('?')}`, values: [prefix] },
    { sql: 't.target >= ?', values: [prefix] },
    ...(end === null
      ? []
      : [
          { sql: `${indexedPart('t.target')} <= ${indexedPart('?')}`, values: [end] },
          { sql: 't.target < ?', values: [end] },
        ]),
  ]
}

/** The least text that follows all texts with this prefix; null if no text follows. */
function textAfter(prefix: string): string | null {
  const points = Array.from(prefix.toWellFormed(), (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === LAST_POINT) points.pop()
  const last = points.pop()
  if (last === undefined) return null
  const next = last + 1 === FIRST_SURROGATE ? AFTER_SURROGATES : last + 1
  return String.fromCodePoint(...points, next)
}

const LAST_POINT = 0x10_ff_ff
const FIRST_SURROGATE = 0xd8_00
const AFTER_SURROGATES = 0xe0_00

/**
 * Both databases know `replace`, and it compares bytes. LIKE takes a step for each character of the
 * text at each position where it may begin, and machines choose targets where that is everywhere.
 */
function contains(text: string): Condition {
  return { sql: "replace(t.folded, ?, '') <> t.folded", values: [foldText(text)] }
}
