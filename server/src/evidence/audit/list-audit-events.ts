import {
  DEFAULT_AUDIT_PAGE,
  MAX_AUDIT_DAYS,
  MAX_AUDIT_PAGE,
  type AuditActionType,
  type AuditPage,
  type AuditQuery,
} from '@palisade/protocol'
import { formatPageToken, readPageToken, type PageList } from '../../http/input/page-token.ts'
import { invalidArgument } from '../../platform/api-error.ts'
import type { Store } from '../../store/store.ts'
import { MAX_AHEAD_MS } from '../store/evidence-record.ts'
import type { EvidenceFilter, EvidencePlace, EvidenceStore } from '../store/evidence-store.ts'
import { formatAuditEvent, type AuditedDevice } from './format-audit-event.ts'

const DAY_MS = 24 * 60 * 60_000
const DEFAULT_DAYS = 7
const ACTIONS: Readonly<Record<AuditActionType, readonly string[]>> = {
  network_egress: ['connect:tcp', 'connect:udp'],
  filesystem_mount: ['read', 'write'],
}

export interface AuditListDeps {
  readonly evidence: Pick<EvidenceStore, 'list'>
  readonly store: Pick<Store, 'read'>
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/** Reads one page of the decisions of an organization. Throws ApiError 400. */
export async function listAuditEvents(
  { evidence, store, pageTokenKey, now }: AuditListDeps,
  org: string,
  query: AuditQuery,
): Promise<AuditPage> {
  const list: PageList = { of: 'audit_log', owner: org, parameter: 'page_token' }
  const { page_token: token = '' } = query
  const before = token === '' ? null : parsePlace(readPageToken(pageTokenKey, list, token))
  const filter = readFilter(query, now().getTime())
  const page = { before, limit: readLimit(query.page_size) }
  const { rows, next } = await evidence.list(org, filter, page)
  const devices = await readDevices(store, new Set(rows.map(({ device_id }) => device_id)))
  return {
    events: rows.map((row) => formatAuditEvent(row, devices.get(row.device_id) ?? UNKNOWN)),
    next_page_token:
      next === null ? '' : formatPageToken(pageTokenKey, list, `${next.last_ms} ${next.id}`),
  }
}

/** A device whose row was removed. */
const UNKNOWN: AuditedDevice = { name: null, assurance: null }

function readFilter(query: AuditQuery, nowMs: number): EvidenceFilter {
  const { username = null, device_id = null, rule_id = null, action_type: type } = query
  return {
    ...readTime(query, nowMs),
    username,
    device_id,
    session: query.audit_session_id ?? null,
    decision: readDecision(query.decision),
    shadow: readDecision(query.shadow),
    actions: type === undefined ? null : ACTIONS[type],
    program: query.agent ?? null,
    rule_id,
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

/** The token is authentic, so its place is one that was formatted here. */
function parsePlace(place: string): EvidencePlace {
  const [last_ms = 0, id = 0] = place.split(' ').map(Number)
  return { last_ms, id }
}

async function readDevices(
  store: Pick<Store, 'read'>,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, AuditedDevice>> {
  if (ids.size === 0) return new Map()
  return store.read(async (reader) => {
    const reports = await reader.deviceReports.list([...ids])
    const devices = new Map<string, AuditedDevice>()
    for (const id of ids) {
      const device = await reader.devices.findById(id)
      devices.set(id, { name: device?.name ?? null, assurance: reports.get(id)?.assurance ?? null })
    }
    return devices
  })
}
