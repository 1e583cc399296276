import type { AgentStatus } from '@palisade/protocol'

/** The status of a machine whose policies are fresh. */
export const STATUS: AgentStatus = {
  state: 'fresh',
  server: 'http://127.0.0.1:8420',
  org: 'acme',
  user: 'alice',
  device_id: 'dev_1',
  agent_version: '0.1.0',
  started_at: '2026-11-21T09:00:00.000Z',
  proxy: 'http://127.0.0.1:8421',
  bundle: {
    revision: 12,
    issued_at: '2026-11-21T11:57:00.000Z',
    stale_at: '2026-11-22T11:57:00.000Z',
    expires_at: '2026-11-28T12:00:00.000Z',
    policies: 3,
    rules: 9,
    source: 'server',
  },
  break_glass: null,
  sync: {
    last_attempt_at: '2026-11-21T11:57:00.000Z',
    last_success_at: '2026-11-21T11:57:00.000Z',
    failing_since: null,
    last_error: null,
    next_attempt_at: '2026-11-21T12:02:00.000Z',
    awaiting: null,
  },
  hints: { is_on: true, failing_since: null, last_error: null },
  cache_problem: null,
  decisions: { allowed: 4, denied: 2 },
}
