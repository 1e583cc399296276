import { isFilesystemAction } from '@palisade/policy-core'
import type { AssuranceClass, AuditEvent } from '@palisade/protocol'
import type { StoredEvidence } from '../store/evidence-store.ts'

/** The device of a row, as the server knows it now. */
export interface AuditedDevice {
  readonly name: string | null
  readonly assurance: AssuranceClass | null
}

/** Formats a row as an event of the audit log. */
export function formatAuditEvent(row: StoredEvidence, device: AuditedDevice): AuditEvent {
  const { tuple } = row
  const { decision, reason } = tuple
  return {
    audit_event_id: String(row.id),
    org_id: row.org,
    event_type: 'evaluation',
    category: 'AUDIT_CATEGORY_EVALUATION',
    decision: decision === 'allow' ? 'AUDIT_DECISION_ALLOW' : 'AUDIT_DECISION_DENY',
    action_type: isFilesystemAction(tuple.action) ? 'filesystem_mount' : 'network_egress',
    enforcement_mode: reason === 'observed' ? 'audit' : 'enforce',
    audit_session_id: row.session,
    username: row.username ?? '',
    created_at: formatInstant(row.last_ms),
    ingested_at: formatInstant(row.received_ms),
    payload: {
      resource_id: resourceOf(tuple),
      ...payloadOf(tuple),
      deny_reason: decision === 'deny' ? [reason as AuditEvent['reason']] : [],
    },
    reason: reason as AuditEvent['reason'],
    rules: [...tuple.rules],
    ...(tuple.shadow === undefined ? {} : { shadow: tuple.shadow }),
    revision: tuple.revision,
    device_id: row.device_id,
    hostname: device.name,
    assurance_class: device.assurance,
    agent: tuple.program,
    os_user: tuple.os_user,
    point: tuple.point,
    first_at: formatInstant(row.first_ms),
    count: row.decisions,
    connections: row.flows,
    bytes_sent: row.bytes_sent,
    bytes_received: row.bytes_received,
  }
}

type Tuple = StoredEvidence['tuple']

/** The target as a filter for it is written. */
function resourceOf({ host, port, path }: Tuple): string {
  if (path !== null) return path
  return host === null || port === null ? '' : `${host}:${port}`
}

function payloadOf(tuple: Tuple): Partial<AuditEvent['payload']> {
  const { action, host, port, address, path, path_cut } = tuple
  if (path !== null && isFilesystemAction(action))
    return { filesystem_mount: { action, path, ...(path_cut ? { path_cut } : {}) } }
  if (host === null || port === null) return {}
  const protocol = action === 'connect:udp' ? 'udp' : 'tcp'
  return { network_egress: { protocol, host, port, ...(address === null ? {} : { address }) } }
}

function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}
