import { FILESYSTEM_ACTIONS, NETWORK_ACTIONS } from '@palisade/policy-core'
import {
  classesOf,
  DEFAULT_AUDIT_PAGE,
  MAX_AUDIT_DAYS,
  MAX_AUDIT_PAGE,
  type AssuranceFilter,
  type AuditActionType,
  type AuditEvent,
  type AuditPage,
  type AuditQuery,
} from '@palisade/protocol'
import { formatPageToken, readPageToken, type PageList } from '../../http/input/page-token.ts'
import { invalidArgument } from '../../platform/api-error.ts'
import type { Store } from '../../store/store.ts'
import { MAX_AHEAD_MS } from '../store/evidence-record.ts'
import type { EvidenceFilter, EvidencePosition, EvidenceStore } from '../store/evidence-store.ts'
import { describeRows } from './audited-devices.ts'

const DAY_MS = 24 * 60 * 60_000
const DEFAULT_DAYS = 7
/** Null is a request that was unreadable, whose event has the type of the network. */
const ACTIONS: Readonly<Record<AuditActionType, readonly (string | null)[]>> = {
  network_egress: [...NETWORK_ACTIONS, null],
  filesystem_mount: FILESYSTEM_ACTIONS,
}

export interface AuditListDeps {
  readonly evidence: Pick<EvidenceStore, 'list'>
  readonly store: Pick<Store, 'read'>
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/**
 * Reads one page of the decisions of an organization. Classes are those that the devices have now,
 * and select among the rows of a page, which may so be empty before the last. Throws ApiError 400.
 */
export async function listAuditEvents(
  { evidence, store, pageTokenKey, now }: AuditListDeps,
  org: string,
  query: AuditQuery,
): Promise<AuditPage> {
  const list: PageList = { of: 'audit_log', owner: org, parameter: 'page_token' }
  const { page_token: token = '' } = query
  const before = token === '' ? null : parsePosition(readPageToken(pageTokenKey, list, token))
  const filter = readFilter(query, now().getTime())
  if (filter === null) return { events: [], next_page_token: '' }
  const page = { before, limit: readLimit(query.page_size) }
  const { rows, next } = await evidence.list(org, filter, page)
  const events = await describeRows(store, rows)
  const isOfClass = createClassTest(query.assurance_class)
  return {
    events: events.filter(isOfClass),
    next_page_token:
      next === null ? '' : formatPageToken(pageTokenKey, list, `${next.last_ms} ${next.id}`),
  }
}

function createClassTest(
  filter: AssuranceFilter | undefined,
): (event: Pick<AuditEvent, 'assurance_class'>) => boolean {
  if (filter === undefined) return () => true
  const { classes, orNone } = classesOf(filter)
  return ({ assurance_class: given }) => (given === null ? orNone : classes.includes(given))
}

/** Null for a filter that no record matches. */
function readFilter(query: AuditQuery, nowMs: number): EvidenceFilter | null {
  const { username = null, device_id = null, rule_id = null, action_type: type } = query
  const { enforcement_mode: mode = null } = query
  const time = readTime(query, nowMs)
  if (mode === 'warn') return null
  return {
    ...time,
    username,
    device_id,
    session: query.audit_session_id ?? null,
    decision: readDecision(query.decision),
    shadow: readDecision(query.shadow),
    actions: type === undefined ? null : ACTIONS[type],
    program: query.agent ?? null,
    rule_id,
    mode,
    resource: query.resource_id ?? null,
    text: query.query ?? null,
  }
}

function readTime(
  { from, to }: Pick<AuditQuery, 'from' | 'to'>,
  nowMs: number,
): Pick<EvidenceFilter, 'fromMs' | 'toMs'> {
  const endMs = to === undefined ? nowMs : Date.parse(to)
  const fromMs = from === undefined ? endMs - DEFAULT_DAYS * DAY_MS : Date.parse(from)
  if (fromMs >= endMs) throw invalidArgument('`from` must be before `to`', { field: 'from' })
  if (endMs - fromMs > MAX_AUDIT_DAYS * DAY_MS)
    throw invalidArgument(`\`from\` must be at most ${MAX_AUDIT_DAYS} days before \`to\``, {
      field: 'from',
    })
  return { fromMs, toMs: to === undefined ? nowMs + MAX_AHEAD_MS : endMs }
}

function readDecision(decision: AuditQuery['decision']): 'allow' | 'deny' | null {
  if (decision === undefined) return null
  return decision === 'AUDIT_DECISION_ALLOW' ? 'allow' : 'deny'
}

/** Absent and 0 mean the default, and more than the maximum means the maximum. */
function readLimit(text: string | undefined): number {
  const wanted = Number(text ?? 0)
  return wanted === 0 ? DEFAULT_AUDIT_PAGE : Math.min(wanted, MAX_AUDIT_PAGE)
}

/** The token is authentic, so its position was formatted here. */
function parsePosition(position: string): EvidencePosition {
  const [last_ms = 0, id = 0] = position.split(' ').map(Number)
  return { last_ms, id }
}
