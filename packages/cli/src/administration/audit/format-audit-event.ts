import { QUESTION_POINT, type AuditEvent } from '@palisade/protocol'
import { formatTime, type Style, type Tone } from '../../terminal/style.ts'
import { formatRow } from '../../terminal/table.ts'
import { fitWidths } from '../../terminal/wrap.ts'

/** Fixed widths, because a followed log has no end. */
const COLUMNS = [
  ['TIME', 20],
  ['DECISION', 8],
  ['USER', 12],
  ['DEVICE', 16],
  ['TARGET', 40],
  ['WHY', 24],
  ['COUNT', 5],
  ['PROGRAM', 24],
] as const
/** Columns of a terminal of less than this many characters. */
const NARROW_BELOW = 140
/** The columns that stay there. */
const NARROW: ReadonlySet<string> = new Set(['TIME', 'DECISION', 'USER', 'TARGET', 'WHY'])

/** Characters of a rule's id; `--wide` shows all. */
const SHOWN_ID = 16

/** The head of the columns of `formatAuditEvent`. */
export function formatAuditHead(style: Style): string {
  const { names, widths } = layoutOf(style)
  return formatRow(
    names.map((text) => ({ text, tone: 'strong' })),
    widths,
    style,
  )
}

/** An event, on one line where there is room. Escapes every value. */
export function formatAuditEvent(event: AuditEvent, style: Style): string {
  const isAllowed = event.decision === 'AUDIT_DECISION_ALLOW'
  const { names, widths, isNarrow } = layoutOf(style)
  const times = event.count === 0 ? event.connections : event.count
  const time = formatTime(event.created_at, style)
  const values: Readonly<Record<string, string>> = {
    TIME: isNarrow ? time.slice(5, 19) : time,
    DECISION: isAllowed ? 'allow' : 'deny',
    USER: event.username,
    DEVICE: style.isWide ? event.device_id : (event.hostname ?? event.device_id.slice(0, 8)),
    TARGET: targetOf(event) + (isNarrow && times > 1 ? ` (${times})` : ''),
    WHY: whyOf(event, style),
    COUNT: String(times),
    PROGRAM: event.agent ?? '',
  }
  const tones: Partial<Record<string, Tone>> = {
    TIME: 'quiet',
    DECISION: isAllowed ? 'good' : 'bad',
  }
  const cells = names.map((name) => ({ text: values[name] ?? '', tone: tones[name] ?? 'plain' }))
  return formatRow(cells, widths, style)
}

function layoutOf({ columns, isWide }: Style) {
  const isNarrow = columns !== null && columns < NARROW_BELOW && !isWide
  const shown = COLUMNS.filter(([name]) => !isNarrow || NARROW.has(name))
  const names = shown.map(([name]) => name)
  const timeWidth = isNarrow ? 14 : isWide ? 24 : 20
  const wanted = shown.map(([name, width]) => (name === 'TIME' ? timeWidth : width))
  const room = columns === null ? Infinity : columns - 2 * (shown.length - 1)
  return { names, widths: fitWidths(wanted, room), isNarrow }
}

/** `tcp example.com:443`, or `read /data/x`. */
function targetOf({ payload }: AuditEvent): string {
  const { network_egress: network, filesystem_mount: file, resource_id } = payload
  if (network !== undefined) return `${network.protocol} ${resource_id}`
  if (file === undefined) return '(cannot be read)'
  return `${file.action} ${file.path}${file.path_cut === true ? '/…' : ''}`
}

/** The first rule, or the reason, with a mark of a question; of ended connections, their bytes. */
function whyOf({ count, rules, reason, shadow, ...event }: AuditEvent, { isWide }: Style): string {
  if (count === 0) return `ended, ${event.bytes_sent} B out, ${event.bytes_received} B in`
  const [rule] = rules
  const decided = rule === undefined ? reason : isWide ? rule.rule_id : shorten(rule.rule_id)
  const why = event.point === QUESTION_POINT ? `asked: ${decided}` : decided
  return shadow === undefined ? why : `${why} (shadow: ${shadow.decision})`
}

function shorten(id: string): string {
  return id.length <= SHOWN_ID ? id : `${id.slice(0, SHOWN_ID)}…`
}
