import type { AuditEvent } from '@palisade/protocol'

/** Facility `log audit` (13) of RFC 5424, §6.2.1, times eight. */
const FACILITY = 13 * 8
const SEVERITIES = { warning: 4, informational: 6 } as const
/** The number for examples (RFC 5612): Palisade has none of its own. */
const SD_ID = 'palisade@32473'
const MAX_HOSTNAME = 255
/** Not PRINTUSASCII (RFC 5424, §6). */
const NOT_PRINTABLE = /[^\x21-\x7e]/g

const PARAMETERS: Readonly<Record<string, (event: AuditEvent) => string | null>> = {
  id: (event) => event.audit_event_id,
  org: (event) => event.org_id,
  decision: (event) => (isAllowed(event) ? 'allow' : 'deny'),
  reason: (event) => event.reason,
  resource: (event) => event.payload.resource_id,
  user: (event) => event.username,
  device: (event) => event.device_id,
  rule: (event) => event.rules[0]?.rule_id ?? null,
  count: (event) => String(event.count),
}

/**
 * A message of RFC 5424 with its length before it (RFC 6587, §3.4.1; RFC 5425, §4.3). The message
 * itself is the event as JSON, of ASCII characters alone.
 */
export function formatSyslog(event: AuditEvent): string {
  const priority = FACILITY + (isAllowed(event) ? SEVERITIES.informational : SEVERITIES.warning)
  const head = `<${priority}>1 ${event.created_at} ${hostOf(event)} palisade - decision`
  const parameters = Object.entries(PARAMETERS).flatMap(([name, read]) => {
    const value = read(event)
    return value === null || value === '' ? [] : [`${name}="${escapeValue(value)}"`]
  })
  const message = `${head} [${[SD_ID, ...parameters].join(' ')}] ${formatAscii(event)}`
  return `${Buffer.byteLength(message)} ${message}`
}

function isAllowed({ decision }: AuditEvent): boolean {
  return decision === 'AUDIT_DECISION_ALLOW'
}

function hostOf({ hostname, device_id }: AuditEvent): string {
  const host = (hostname ?? device_id).replaceAll(NOT_PRINTABLE, '_').slice(0, MAX_HOSTNAME)
  return host === '' ? '-' : host
}

/**
 * RFC 5424, §6.3.3: a quote, a backslash and a bracket have a backslash before them. All but ASCII
 * is written as `\\u…`: a receiver that takes a line for a message must find no line feed, and a
 * terminal that shows it no control character.
 */
function escapeValue(value: string): string {
  return value
    .replaceAll(/["\\\]]/g, '\\$&')
    .replaceAll(/[^\x20-\x7e]/g, (unit) => `\\\\u${hexOf(unit)}`)
}

function formatAscii(event: AuditEvent): string {
  return JSON.stringify(event).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${hexOf(unit)}`)
}

function hexOf(unit: string): string {
  return unit.charCodeAt(0).toString(16).padStart(4, '0')
}
