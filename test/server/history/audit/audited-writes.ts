import type { StoreWriter } from '../../../../server/src/store/store.ts'
import {
  NOW,
  LATER,
  TEAM,
  RULE,
  AT,
  POLICY,
  SECRET,
  device,
  GRANT,
  key,
  HOOK,
  webhook,
} from './audited-records.ts'
import { accessWrites } from './audited-access-writes.ts'
import { eventWrites } from './audited-event-writes.ts'
import { invitationWrites } from './audited-invitation-writes.ts'
import { organizationWrites } from './audited-organization-writes.ts'
import { rolloutWrites } from './audited-rollout-writes.ts'
import { accessTokenWrites, enrolmentTokenWrites } from './audited-token-writes.ts'
import { trustWrites } from './audited-trust-writes.ts'

const SHOWN_KEY = { kid: 'k0', purpose: 'access_token', created_at: NOW }

const { org: _org, secret: _secret, ...SHOWN_WEBHOOK } = webhook('w0')

export type Work = (writer: StoreWriter) => Promise<unknown>
type Expected = [kind: string, subject: object, before: unknown, after: unknown]

const BOB = { username: 'bob', role: 'editor', teams: [TEAM] }
export const RULE_0 = { ...RULE, id: 'rule_0', name: 'zero' }
const SHOWN_POLICY = {
  id: 'pol_1',
  name: 'one',
  org: 'acme',
  scope: {},
  created_at: NOW,
  updated_at: LATER,
}
const RETIRED_KEY = { ...SHOWN_KEY, verifies_until: LATER }
const { org: _grantOrg, over_at: _overAt, ...SHOWN_GRANT } = GRANT
const D0 = { id: 'd0', user: 'bob', thumbprint: 'key of d0', labels: [], created_at: NOW }
const D2 = { id: 'd2', user: null, thumbprint: 'key of d2' }

/** Events of every write in the history of `acme`, by section and method. */
const AUDITED: Record<string, Record<string, [Work, Expected[]]>> = {
  organizations: organizationWrites(),
  users: {
    insert: [
      async (writer) => {
        await writer.users.insert({ username: 'eve', password_hash: SECRET, created_at: NOW })
        const membership = { org: 'acme', username: 'eve', role: 'member' as const }
        await writer.memberships.insert(membership, { ownsAccount: true })
      },
      [
        ['user.created', { id: 'eve', name: 'eve' }, null, { username: 'eve', created_at: NOW }],
        [
          'member.added',
          { id: 'eve', name: 'eve' },
          null,
          { username: 'eve', role: 'member', teams: [] },
        ],
      ],
    ],
    updatePassword: [
      (writer) => writer.users.updatePassword('bob', SECRET),
      [
        [
          'user.password_changed',
          { id: 'bob', name: 'bob' },
          { username: 'bob', password_generation: 0, has_password: false },
          { username: 'bob', password_generation: 1, has_password: true },
        ],
      ],
    ],
    noteFailedSignIns: [
      (writer) =>
        writer.users.noteFailedSignIns('bob', {
          wrong: 2,
          throttled: 1,
          networks: ['192.0.2.7'],
        }),
      [
        [
          'user.sign_in_failed',
          { id: 'bob', name: 'bob' },
          { username: 'bob', failed_sign_ins: 0 },
          {
            username: 'bob',
            failed_sign_ins: 3,
            wrong: 2,
            throttled: 1,
            networks: ['192.0.2.7'],
          },
        ],
      ],
    ],
    endExternalSessions: [
      (writer) => writer.users.endExternalSessions('bob', LATER),
      [
        [
          'user.sessions_ended',
          { id: 'bob', name: 'bob' },
          { username: 'bob', external_not_before: null },
          { username: 'bob', external_not_before: LATER },
        ],
      ],
    ],
  },
  memberships: {
    insert: [
      (writer) => writer.memberships.insert({ org: 'acme', username: 'dan', role: 'auditor' }),
      [
        [
          'member.added',
          { id: 'dan', name: 'dan' },
          null,
          { username: 'dan', role: 'auditor', teams: [] },
        ],
      ],
    ],
    updateRole: [
      (writer) => writer.memberships.updateRole('acme', 'bob', 'owner'),
      [['member.role_changed', { id: 'bob', name: 'bob' }, BOB, { ...BOB, role: 'owner' }]],
    ],
    delete: [
      (writer) => writer.memberships.delete('acme', 'bob'),
      [['member.removed', { id: 'bob', name: 'bob' }, BOB, null]],
    ],
  },
  knownNetworks: {
    note: [
      (writer) => writer.knownNetworks.note('bob', '192.0.2.7', LATER),
      [
        [
          'user.signed_in',
          { id: 'bob', name: 'bob' },
          null,
          { username: 'bob', network: '192.0.2.7', seen_at: LATER },
        ],
      ],
    ],
  },
  teams: {
    insert: [
      (writer) => writer.teams.insert({ id: 'x', org: 'acme', name: 'new' }),
      [['team.created', { id: 'x', name: 'new' }, null, { id: 'x', name: 'new' }]],
    ],
    updateDefault: [
      (writer) => writer.teams.updateDefault('acme', TEAM, 'observe'),
      [
        [
          'team.updated',
          { id: TEAM, name: 'backend' },
          { id: TEAM, name: 'backend' },
          { id: TEAM, name: 'backend', default: 'observe' },
        ],
      ],
    ],
    delete: [
      (writer) => writer.teams.delete('acme', TEAM),
      [
        [
          'team.deleted',
          { id: TEAM, name: 'backend' },
          { id: TEAM, name: 'backend', members: ['bob'] },
          null,
        ],
      ],
    ],
    addMember: [
      (writer) => writer.teams.addMember('acme', TEAM, 'ann'),
      [
        [
          'team.member_added',
          { id: TEAM, name: 'backend' },
          { username: 'ann', role: 'owner', teams: [] },
          { username: 'ann', role: 'owner', teams: [TEAM] },
        ],
      ],
    ],
    removeMember: [
      (writer) => writer.teams.removeMember('acme', TEAM, 'bob'),
      [['team.member_removed', { id: TEAM, name: 'backend' }, BOB, { ...BOB, teams: [] }]],
    ],
  },
  policies: {
    insert: [
      (writer) => writer.policies.insert({ ...POLICY, id: 'pol_2', name: 'two' }),
      [
        [
          'policy.created',
          { id: 'pol_2', name: 'two' },
          null,
          { ...SHOWN_POLICY, id: 'pol_2', name: 'two', updated_at: NOW },
        ],
      ],
    ],
    update: [
      (writer) =>
        writer.policies.update({
          org: 'acme',
          id: 'pol_1',
          name: 'one',
          teams: [TEAM],
          mode: 'shadow',
          updated_at: LATER,
        }),
      [
        [
          'policy.updated',
          { id: 'pol_1', name: 'one' },
          SHOWN_POLICY,
          { ...SHOWN_POLICY, scope: { teams: [TEAM] }, mode: 'shadow' },
        ],
      ],
    ],
    delete: [
      (writer) => writer.policies.delete('acme', 'pol_1'),
      [
        [
          'policy.deleted',
          { id: 'pol_1', name: 'one' },
          { ...SHOWN_POLICY, allowlist_v0: { domain: 'network', rules: [RULE_0] } },
          null,
        ],
      ],
    ],
    insertRule: [
      (writer) => writer.policies.insertRule(AT, RULE),
      [['rule.created', { id: 'rule_1', name: 'web', policy_id: 'pol_1' }, null, RULE]],
    ],
    updateRule: [
      (writer) =>
        writer.policies.updateRule(AT, { ...RULE_0, decision: 'deny', expires_at: LATER }),
      [
        [
          'rule.updated',
          { id: 'rule_0', name: 'zero', policy_id: 'pol_1' },
          RULE_0,
          { ...RULE_0, decision: 'deny', expires_at: LATER },
        ],
      ],
    ],
    deleteRule: [
      (writer) => writer.policies.deleteRule(AT, 'rule_0'),
      [['rule.deleted', { id: 'rule_0', name: 'zero', policy_id: 'pol_1' }, RULE_0, null]],
    ],
    replaceRules: [
      async (writer) => {
        await writer.policies.replaceRules(AT, [RULE_0, RULE])
        await writer.policies.replaceRules(AT, [RULE, { ...RULE_0, decision: 'deny' }])
        await writer.policies.replaceRules(AT, [RULE])
      },
      [
        ['rule.created', { id: 'rule_1', name: 'web', policy_id: 'pol_1' }, null, RULE],
        [
          'rule.updated',
          { id: 'rule_0', name: 'zero', policy_id: 'pol_1' },
          RULE_0,
          { ...RULE_0, decision: 'deny' },
        ],
        [
          'policy.rules_reordered',
          { id: 'pol_1', name: 'one' },
          { rules: ['rule_0', 'rule_1'] },
          { rules: ['rule_1', 'rule_0'] },
        ],
        [
          'rule.deleted',
          { id: 'rule_0', name: 'zero', policy_id: 'pol_1' },
          { ...RULE_0, decision: 'deny' },
          null,
        ],
      ],
    ],
  },
  accessRequests: accessWrites(),
  accessTokens: accessTokenWrites(),
  enrolmentTokens: enrolmentTokenWrites(),
  devices: {
    insert: [
      (writer) => writer.devices.insert(device('d2', null)),
      [['device.enrolled', { id: 'd2', name: null }, null, { ...D0, ...D2 }]],
    ],
    setLabels: [
      (writer) => writer.devices.setLabels('acme', 'd0', ['ci']),
      [['device.labelled', { id: 'd0', name: 'bob' }, D0, { ...D0, labels: ['ci'] }]],
    ],
    setName: [
      (writer) => writer.devices.setName('acme', 'd0', 'laptop'),
      [['device.renamed', { id: 'd0', name: 'bob' }, D0, { ...D0, name: 'laptop' }]],
    ],
    revoke: [
      (writer) => writer.devices.revoke('d0', LATER),
      [['device.revoked', { id: 'd0', name: 'bob' }, D0, { ...D0, revoked_at: LATER }]],
    ],
    revokeOfUser: [
      (writer) => writer.devices.revokeOfUser('acme', 'bob', LATER),
      ['d0', 'd1'].map((id) => [
        'device.revoked',
        { id, name: 'bob' },
        { ...D0, id, thumbprint: `key of ${id}` },
        { ...D0, id, thumbprint: `key of ${id}`, revoked_at: LATER },
      ]),
    ],
  },
  grants: {
    insert: [
      (writer) => writer.grants.insert(GRANT),
      [['break_glass.issued', { id: 'g9', name: null }, null, SHOWN_GRANT]],
    ],
  },
  signingKeys: {
    insert: [
      (writer) => writer.signingKeys.insert(key('k9')),
      [['signing_key.created', { id: 'k9', name: null }, null, { ...SHOWN_KEY, kid: 'k9' }]],
    ],
    retire: [
      (writer) => writer.signingKeys.retire('k0', LATER),
      [['signing_key.retired', { id: 'k0', name: null }, SHOWN_KEY, RETIRED_KEY]],
    ],
  },
}

AUDITED['webhooks'] = {
  insert: [
    (writer) => writer.webhooks.insert({ ...webhook('w9'), secret: SECRET }, 0),
    [['webhook.created', { id: 'w9', name: HOOK }, null, { ...SHOWN_WEBHOOK, id: 'w9' }]],
  ],
  update: [
    (writer) => writer.webhooks.update({ org: 'acme', id: 'w0', url: HOOK, enabled: false }, LATER),
    [
      [
        'webhook.updated',
        { id: 'w0', name: HOOK },
        SHOWN_WEBHOOK,
        { ...SHOWN_WEBHOOK, enabled: false },
      ],
    ],
  ],
  replaceSecret: [
    (writer) =>
      writer.webhooks.replaceSecret({
        org: 'acme',
        id: 'w0',
        secret: SECRET,
        at: LATER,
        previousUntil: LATER,
      }),
    [
      [
        'webhook.secret_rotated',
        { id: 'w0', name: HOOK },
        SHOWN_WEBHOOK,
        { ...SHOWN_WEBHOOK, secret_created_at: LATER },
      ],
    ],
  ],
  delete: [
    (writer) => writer.webhooks.delete('acme', 'w0'),
    [['webhook.deleted', { id: 'w0', name: HOOK }, SHOWN_WEBHOOK, null]],
  ],
}

/** Writes that do not change a governed resource. */
AUDITED['events'] = eventWrites()
AUDITED['trust'] = trustWrites()
AUDITED['invitations'] = invitationWrites()
AUDITED['rollouts'] = rolloutWrites()

export const NOT_AUDITED: Record<string, readonly string[]> = {
  idempotency: ['put', 'deleteExpired'],
  deliveries: ['claim', 'settle', 'release', 'put'],
  secrets: ['insert'],
  users: ['noteTeamsSynced'],
  knownNetworks: ['forget'],
  accessTokens: ['touch'],
  enrolmentTokens: ['use'],
  devicePolls: ['record'],
  deviceAssignments: ['put'],
  deviceReports: ['put'],
  trust: ['insertKey', 'insertRoot'],
  views: [
    'insertAhead',
    'publish',
    'outdateAll',
    'deleteReplaced',
    'deleteUnlisted',
    'deleteAbandoned',
  ],
  rollouts: ['putWatch'],
}

export const cases = Object.entries(AUDITED).flatMap(([section, methods]) =>
  Object.entries(methods).map(([method, [work, expected]]) => ({
    name: `${section}.${method}`,
    work,
    expected,
  })),
)
