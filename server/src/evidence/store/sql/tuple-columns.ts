import type { UploadedRule, UploadedShadow } from '@palisade/protocol'
import { hash } from 'node:crypto'
import type { Value } from '../../../store/sql/connection.ts'
import type { EvidenceTuple } from '../evidence-record.ts'
import { toStorable } from './storable-text.ts'

/** A tuple, and the hash by which an organization has it once. */
export interface HashedTuple {
  readonly hash: string
  readonly tuple: EvidenceTuple
}

/** Columns of a tuple in `tuples`, in the order of `tupleColumns`. */
export const TUPLE_COLUMNS = [
  { name: 'hash', type: 'TEXT' },
  { name: 'point', type: 'TEXT' },
  { name: 'protocol', type: 'TEXT' },
  { name: 'action', type: 'TEXT' },
  { name: 'host', type: 'TEXT' },
  { name: 'port', type: 'BIGINT' },
  { name: 'address', type: 'TEXT' },
  { name: 'path', type: 'TEXT' },
  { name: 'path_cut', type: 'BIGINT' },
  { name: 'decision', type: 'TEXT' },
  { name: 'reason', type: 'TEXT' },
  { name: 'rules', type: 'TEXT' },
  { name: 'revision', type: 'BIGINT' },
  { name: 'stale', type: 'BIGINT' },
  { name: 'break_glass', type: 'BIGINT' },
  { name: 'program', type: 'TEXT' },
  { name: 'os_user', type: 'TEXT' },
  { name: 'target', type: 'TEXT' },
  { name: 'folded', type: 'TEXT' },
  { name: 'shadow_decision', type: 'TEXT' },
  { name: 'shadow', type: 'TEXT' },
] as const

/** A row of `tuples`, or the part of a joined row. */
export interface TupleRow {
  readonly point: string
  readonly protocol: string
  readonly action: string | null
  readonly host: string | null
  readonly port: number | null
  readonly address: string | null
  readonly path: string | null
  readonly path_cut: number
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly rules: string
  readonly revision: number | null
  readonly stale: number
  readonly break_glass: number
  readonly program: string | null
  readonly os_user: string | null
  readonly shadow: string | null
}

/** JSON of an array keeps members apart whatever characters they have. */
export function hashTuple(tuple: EvidenceTuple): HashedTuple {
  const text = JSON.stringify([
    tuple.point,
    tuple.protocol,
    tuple.action,
    tuple.host,
    tuple.port,
    tuple.address,
    tuple.path,
    tuple.path_cut,
    tuple.decision,
    tuple.reason,
    formatRules(tuple.rules),
    tuple.revision,
    tuple.stale,
    tuple.break_glass,
    tuple.program,
    tuple.os_user,
    ...(tuple.shadow === undefined ? [] : [formatShadow(tuple.shadow)]),
  ])
  return { hash: hash('sha256', text, 'base64url'), tuple }
}

export function tupleColumns({ hash: key, tuple }: HashedTuple): Value[] {
  const target = targetOf(tuple)
  return [
    key,
    tuple.point,
    tuple.protocol,
    tuple.action,
    toStorable(tuple.host),
    tuple.port,
    toStorable(tuple.address),
    toStorable(tuple.path),
    Number(tuple.path_cut),
    tuple.decision,
    tuple.reason,
    JSON.stringify(formatRules(tuple.rules)),
    tuple.revision,
    Number(tuple.stale),
    Number(tuple.break_glass),
    toStorable(tuple.program),
    toStorable(tuple.os_user),
    target,
    target === null ? null : foldText(target),
    tuple.shadow?.decision ?? null,
    tuple.shadow === undefined ? null : JSON.stringify(formatShadow(tuple.shadow)),
  ]
}

export function readTuple(row: TupleRow): EvidenceTuple {
  return {
    point: row.point,
    protocol: row.protocol,
    action: row.action,
    host: row.host,
    port: row.port,
    address: row.address,
    path: row.path,
    path_cut: row.path_cut === 1,
    decision: row.decision,
    reason: row.reason,
    rules: readRules(row.rules),
    revision: row.revision,
    stale: row.stale === 1,
    break_glass: row.break_glass === 1,
    program: row.program,
    os_user: row.os_user,
    ...(row.shadow === null ? {} : { shadow: readShadow(row.shadow) }),
  }
}

/** Here and not by the databases, which fold letters differently. */
export function foldText(text: string): string {
  // A small sigma has another form at the end of a word, and a search may end within one.
  return text.toLowerCase().replaceAll('ς', 'σ')
}

function targetOf({ host, port, path }: EvidenceTuple): string | null {
  return toStorable(path ?? (host === null ? null : `${host}:${String(port)}`))
}

type StoredRule = readonly [string, string, UploadedRule['decision'], UploadedRule['origin']]

function formatRules(rules: readonly UploadedRule[]): StoredRule[] {
  return rules.map(({ policy_id, rule_id, decision, origin }) => [
    policy_id,
    toStorable(rule_id),
    decision,
    origin,
  ])
}

type StoredShadow = readonly [UploadedShadow['decision'], UploadedShadow['reason'], StoredRule[]]

function formatShadow({ decision, reason, rules }: UploadedShadow): StoredShadow {
  return [decision, reason, formatRules(rules)]
}

function readShadow(text: string): UploadedShadow {
  const [decision, reason, rules] = JSON.parse(text) as StoredShadow
  return { decision, reason, rules: rules.map(toRule) }
}

function readRules(text: string): UploadedRule[] {
  return (JSON.parse(text) as StoredRule[]).map(toRule)
}

function toRule([policy_id, rule_id, decision, origin]: StoredRule): UploadedRule {
  return { policy_id, rule_id, decision, origin }
}
