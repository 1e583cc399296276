import { QUESTION_POINT, type AuditEvent } from '@palisade/protocol'
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

/** The first rule, or the reason, with a mark of a question; of ended connections, their bytes. */
function whyOf({ count, rules, reason, shadow, ...event }: AuditEvent): string {
  if (count === 0) return `ended, ${event.bytes_sent} B out, ${event.bytes_received} B in`
  const [rule] = rules
  const decided = rule === undefined ? reason : rule.rule_id
  const why = event.point === QUESTION_POINT ? `asked: ${decided}` : decided
  return shadow === undefined ? why : `${why} (shadow: ${shadow.decision})`
}
