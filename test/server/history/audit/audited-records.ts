import type { RuleRecord } from '../../../../server/src/store/records.ts'

export const NOW = '2026-11-21T08:00:00.250Z'
export const LATER = '2026-11-22T08:00:00.000Z'
export const TEAM = '11111111-1111-4111-8111-111111111111'
export const RULE: RuleRecord = {
  id: 'rule_1',
  name: 'web',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['example.com:443'],
}
export const AT = { org: 'acme', policyId: 'pol_1', updated_at: LATER }
export const POLICY = {
  id: 'pol_1',
  org: 'acme',
  name: 'one',
  teams: [],
  created_at: NOW,
  updated_at: NOW,
}
export const SECRET = 'not for the history'

export const token = (
  id: string,
  owner: { username: string } | { org: string },
  parent?: string,
) => ({
  ...('org' in owner
    ? { kind: 'organization' as const, ...owner }
    : { kind: 'personal' as const, ...owner }),
  id,
  name: `token ${id}`,
  permissions: ['policies:read' as const],
  secret_hash: `${SECRET} ${id}`,
  created_at: NOW,
  expires_at: LATER,
  revoked_at: null,
  parent_id: parent ?? null,
  prefix: 'pal_0000',
  created_by: 'operator',
  last_used_at: null,
})
export const device = (id: string, username: string | null) => ({
  id,
  org: 'acme',
  username,
  thumbprint: `key of ${id}`,
  name: null,
  labels: [],
  enrolment_token_id: null,
  created_at: NOW,
  revoked_at: null,
})

export const distributionKey = (kid: string) => ({
  kid,
  org: 'acme',
  role: 'root' as const,
  private_jwk: { kty: 'OKP', crv: 'Ed25519', x: 'public', d: SECRET },
  created_at: NOW,
})

export const enrolmentToken = (id: string, created_by = 'user:ann') => ({
  id,
  org: 'acme',
  name: `token ${id}`,
  labels: ['ci'],
  secret_hash: `${SECRET} ${id}`,
  prefix: 'pal_enr_0000',
  root_version: 1,
  max_uses: 2,
  uses: 0,
  last_used_at: null,
  created_at: NOW,
  created_by,
  parent_id: null,
  expires_at: LATER,
  revoked_at: null,
})

export const GRANT = {
  id: 'g9',
  org: 'acme',
  device_id: 'd0',
  reason: 'the office is offline',
  issued_by: 'user:ann',
  issued_at: NOW,
  use_by: LATER,
  duration_seconds: 3600,
  over_at: LATER,
}

export const key = (kid: string) => ({
  kid,
  purpose: 'access_token' as const,
  private_jwk: { d: SECRET, x: 'public' },
  created_at: NOW,
  verifies_until: null,
})

export const HOOK = 'https://hooks.example.com/'
export const webhook = (id: string) => ({
  id,
  org: 'acme',
  url: HOOK,
  enabled: true,
  secret: SECRET,
  secret_created_at: NOW,
  created_at: NOW,
})
