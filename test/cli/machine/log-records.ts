import type { DecisionRecord, LossRecord, RecordLine } from '@palisade/protocol'

export const DENIAL: DecisionRecord = {
  seq: 4,
  boot: 'boot-1',
  time: '2026-11-21T11:57:00.000Z',
  point: 'proxy',
  protocol: 'connect',
  decision: {
    decision: 'deny',
    reason: 'default_deny',
    rules: [],
    request: { action: 'connect:tcp', host: 'api.example.com', port: 443 },
    revision: 12,
    stale: false,
    hint: 'allow connect:tcp api.example.com:443',
  },
  count: 1,
  program: {
    pid: 4711,
    executable: '/usr/bin/curl',
    user: { uid: 1000, name: 'dev' },
  },
  previous: 'a'.repeat(64),
}

export const RULE = {
  policy_id: 'p1',
  policy_name: 'web',
  rule_id: 'r1',
  rule_name: 'no uploads',
  decision: 'deny',
  resource: '*.example.com:443',
  origin: 'org',
} as const

export const RULE_DENIAL: DecisionRecord = {
  ...DENIAL,
  decision: { ...DENIAL.decision, reason: 'rule', rules: [RULE], hint: null },
}

export const FLOW: DecisionRecord = {
  ...DENIAL,
  seq: 5,
  decision: { ...DENIAL.decision, decision: 'allow', reason: 'rule', hint: null },
  count: 3,
  flow: { bytes_sent: 100, bytes_received: 2_000, duration_ms: 50, cause: 'closed' },
}

export const LOSS: LossRecord = {
  seq: 6,
  boot: 'boot-1',
  time: '2026-11-21T11:58:00.000Z',
  lost: 9,
  reason: 'queue_full',
  previous: 'b'.repeat(64),
}

export function formatLines(...lines: readonly RecordLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}
