import type { AuditEvent } from '@palisade/protocol'

/** An event of the audit log. */
export function auditEvent(changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    audit_event_id: '7',
    org_id: 'acme',
    event_type: 'evaluation',
    category: 'AUDIT_CATEGORY_EVALUATION',
    decision: 'AUDIT_DECISION_DENY',
    action_type: 'network_egress',
    enforcement_mode: 'enforce',
    audit_session_id: 's1',
    username: 'alice',
    created_at: '2026-11-26T12:00:00.001Z',
    ingested_at: '2026-11-26T12:00:01.000Z',
    payload: {
      resource_id: 'example.com:443',
      network_egress: { protocol: 'tcp', host: 'example.com', port: 443 },
      deny_reason: ['default_deny'],
    },
    reason: 'default_deny',
    rules: [],
    revision: 3,
    device_id: 'dev_1',
    hostname: 'laptop',
    assurance_class: null,
    agent: null,
    os_user: null,
    point: 'proxy',
    first_at: '2026-11-26T12:00:00.001Z',
    count: 2,
    connections: 0,
    bytes_sent: 0,
    bytes_received: 0,
    ...changes,
  }
}
