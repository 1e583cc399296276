import type { AuditEvent } from './audit.ts'

/** The members of a row of comma-separated values, as `palisade audit --csv` has them. */
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
  point: (event) => event.point,
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
 * Controls, invisible and reordering characters, line separators and unpaired surrogates. A
 * spreadsheet of most of Europe begins a cell at each semicolon, also within quotes.
 */
const ACTIVE = /[;\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/**
 * RFC 4180, §2. A text that a spreadsheet would run as a formula gets an apostrophe, also for the
 * wide forms of the signs. A character that a terminal would obey, or that separates cells
 * elsewhere, is written as `\u…`. Machines choose names and paths.
 */
function formatCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = (/^[=+\-@\t\r＝＋－＠]/.test(value) ? `'${value}` : value).replace(
    ACTIVE,
    escapeCharacter,
  )
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function escapeCharacter(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
