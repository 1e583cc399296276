import type { AuditEvent } from '@palisade/protocol'
import { formatInTurns } from './receiver.ts'

/** Attributes of a record, by the members of the audit log. */
const ATTRIBUTES: Readonly<Record<string, (event: AuditEvent) => string | number | null>> = {
  'palisade.audit_event_id': (event) => event.audit_event_id,
  'palisade.org': (event) => event.org_id,
  'palisade.decision': (event) => decisionOf(event),
  'palisade.reason': (event) => event.reason,
  'palisade.enforcement_mode': (event) => event.enforcement_mode,
  'palisade.action_type': (event) => event.action_type,
  'palisade.resource_id': (event) => event.payload.resource_id,
  'palisade.rules': (event) => event.rules.map(({ rule_id }) => rule_id).join(' '),
  'palisade.revision': (event) => event.revision,
  'palisade.audit_session_id': (event) => event.audit_session_id,
  'palisade.device.id': (event) => event.device_id,
  'palisade.device.assurance_class': (event) => event.assurance_class,
  'palisade.point': (event) => event.point,
  'palisade.count': (event) => event.count,
  'palisade.connections': (event) => event.connections,
  'palisade.bytes_sent': (event) => event.bytes_sent,
  'palisade.bytes_received': (event) => event.bytes_received,
  'enduser.id': (event) => event.username,
  'host.name': (event) => event.hostname,
  'process.executable.path': (event) => event.agent,
  'process.owner': (event) => event.os_user,
  'network.transport': (event) => event.payload.network_egress?.protocol ?? null,
  'server.address': (event) => event.payload.network_egress?.host ?? null,
  'server.port': (event) => event.payload.network_egress?.port ?? null,
  'network.peer.address': (event) => event.payload.network_egress?.address ?? null,
  'file.path': (event) => event.payload.filesystem_mount?.path ?? null,
}

/** SeverityNumber of OpenTelemetry. */
const SEVERITIES = { allow: [9, 'INFO'], deny: [13, 'WARN'] } as const

/** The body of `POST /v1/logs`, in the JSON encoding of OTLP 1.x. */
export async function formatOtlpLogs(
  events: readonly AuditEvent[],
  version: string,
): Promise<string> {
  const resource = JSON.stringify({ attributes: [attribute('service.name', 'palisade-server')] })
  const scope = JSON.stringify({ name: 'palisade.evidence', version })
  const records = await formatInTurns(events, (event) => JSON.stringify(formatRecord(event)))
  const scopeLogs = `[{"scope":${scope},"logRecords":[${records.join()}]}]`
  return `{"resourceLogs":[{"resource":${resource},"scopeLogs":${scopeLogs}}]}`
}

function formatRecord(event: AuditEvent): object {
  const decision = decisionOf(event)
  const [severityNumber, severityText] = SEVERITIES[decision]
  return {
    timeUnixNano: nanosOf(event.created_at),
    observedTimeUnixNano: nanosOf(event.ingested_at),
    severityNumber,
    severityText,
    eventName: 'palisade.decision',
    body: { stringValue: `${decision} ${event.payload.resource_id}`.toWellFormed() },
    attributes: Object.entries(ATTRIBUTES).flatMap(([key, read]) => {
      const value = read(event)
      return value === null || value === '' ? [] : [attribute(key, value)]
    }),
  }
}

function attribute(key: string, value: string | number): object {
  // Collectors refuse a half of a surrogate pair, which a machine could send.
  return typeof value === 'number'
    ? { key, value: { intValue: String(value) } }
    : { key, value: { stringValue: value.toWellFormed() } }
}

function decisionOf({ decision }: AuditEvent): 'allow' | 'deny' {
  return decision === 'AUDIT_DECISION_ALLOW' ? 'allow' : 'deny'
}

function nanosOf(instant: string): string {
  return `${Date.parse(instant)}000000`
}
