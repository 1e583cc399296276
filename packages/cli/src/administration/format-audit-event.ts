import type { AuditEvent } from '@palisade/protocol'
import { printable } from '../terminal/printable.ts'
import type { Style } from '../terminal/style.ts'

/** Fixed widths, because a followed log has no end; a longer value moves the rest of its line. */
const COLUMNS = [
  ['TIME', 20],
  ['DECISION', 8],
  ['USER', 12],
  ['DEVICE', 16],
  ['TARGET', 40],
  ['WHY', 24],
  ['COUNT', 5],
  ['PROGRAM', 0],
] as const

/** The head of the columns of `formatAuditEvent`. */
export function formatAuditHead(style: Style): string {
  const names = COLUMNS.map(([name, width]) => name.padEnd(width))
  return `${style.strong(names.join('  ').trimEnd())}\n`
}

/** One line for an event. Escapes every value. */
export function formatAuditEvent(event: AuditEvent, style: Style): string {
  const isAllowed = event.decision === 'AUDIT_DECISION_ALLOW'
  const values = [
    event.created_at.replace(/\.\d+Z$/, 'Z'),
    isAllowed ? 'allow' : 'deny',
    event.username,
    event.hostname ?? event.device_id.slice(0, 8),
    targetOf(event),
    whyOf(event),
    String(event.count === 0 ? event.connections : event.count),
    event.agent ?? '',
  ]
  const cells = COLUMNS.map(([, width], index) => (values[index] ?? '').padEnd(width))
  const [time = '', decision = '', ...rest] = cells
  const emphasis = isAllowed ? style.good : style.bad
  const texts = [style.quiet(time), emphasis(decision), ...rest.map((text) => style.plain(text))]
  return `${texts.join('  ').trimEnd()}\n`
}

/** `tcp example.com:443`, or `read /data/x`. */
function targetOf({ payload }: AuditEvent): string {
  const { network_egress: network, filesystem_mount: file, resource_id } = payload
  if (network !== undefined) return `${network.protocol} ${resource_id}`
  if (file === undefined) return '(cannot be read)'
  return `${file.action} ${file.path}${file.path_cut === true ? '/…' : ''}`
}

/** The first rule, or the reason; of ended connections, their bytes. */
function whyOf({ count, rules, reason, shadow, ...event }: AuditEvent): string {
  if (count === 0) return `ended, ${event.bytes_sent} B out, ${event.bytes_received} B in`
  const [rule] = rules
  const why = rule === undefined ? reason : rule.rule_id
  return shadow === undefined ? why : `${why} (shadow: ${shadow.decision})`
}

/** The members of a row of comma-separated values. */
const CSV: Readonly<Record<string, (event: AuditEvent) => string | number | null>> = {
  audit_event_id: (event) => event.audit_event_id,
  created_at: (event) => event.created_at,
  ingested_at: (event) => event.ingested_at,
  decision: (event) => event.decision,
  reason: (event) => event.reason,
  action_type: (event) => event.action_type,
  resource_id: (event) => event.payload.resource_id,
  address: (event) => event.payload.network_egress?.address ?? null,
  username: (event) => event.username,
  device_id: (event) => event.device_id,
  hostname: (event) => event.hostname,
  assurance_class: (event) => event.assurance_class,
  audit_session_id: (event) => event.audit_session_id,
  agent: (event) => event.agent,
  os_user: (event) => event.os_user,
  rules: (event) => event.rules.map(({ rule_id }) => rule_id).join(' '),
  shadow_decision: (event) => event.shadow?.decision ?? null,
  shadow_reason: (event) => event.shadow?.reason ?? null,
  shadow_rules: (event) => event.shadow?.rules.map(({ rule_id }) => rule_id).join(' ') ?? null,
  revision: (event) => event.revision,
  count: (event) => event.count,
  connections: (event) => event.connections,
  bytes_sent: (event) => event.bytes_sent,
  bytes_received: (event) => event.bytes_received,
}

export function formatAuditCsvHead(): string {
  return `${Object.keys(CSV).join(',')}\r\n`
}

export function formatAuditCsv(event: AuditEvent): string {
  return `${Object.values(CSV)
    .map((read) => formatCell(read(event)))
    .join(',')}\r\n`
}

/**
 * RFC 4180, §2. A text that a spreadsheet would run as a formula gets an apostrophe: machines
 * choose names and paths. Some spreadsheets take the wide forms of the signs for them.
 */
function formatCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = printable(/^[=+\-@\t\r＝＋－＠]/.test(value) ? `'${value}` : value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
