import type { AccessRequestRecord } from '../../../server/src/store/access-records.ts'
import type { StoreWriter } from '../../../server/src/store/store.ts'
import {
  AT,
  LATER,
  NOW,
  POLICY,
  RULE,
  TEAM,
  device,
  enrolmentToken,
  token,
  webhook,
} from './audit/audited-records.ts'
import { SETTINGS } from './audit/audited-organization-writes.ts'

const OTHER_TEAM = TEAM.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
/** Members, teams, policies and credentials, all of them changed and some deleted. */
export async function furnish(writer: StoreWriter): Promise<void> {
  await writer.organizations.insert(SETTINGS)
  await writer.organizations.updateSettings('acme', { resolve_unlisted_names: true })
  for (const username of ['ann', 'bob', 'cid']) {
    await writer.users.insert({ username, password_hash: null, created_at: NOW })
    const owner = { ownsAccount: username === 'ann' }
    await writer.memberships.insert({ org: 'acme', username, role: 'editor' }, owner)
  }
  await writer.memberships.updateRole('acme', 'ann', 'owner')
  for (const [id, name] of [
    [TEAM, 'backend'],
    [OTHER_TEAM, 'gone'],
  ] as const) {
    await writer.teams.insert({ id, org: 'acme', name })
    for (const username of ['bob', 'cid']) await writer.teams.addMember('acme', id, username)
  }
  await writer.teams.delete('acme', OTHER_TEAM)
  await writer.memberships.delete('acme', 'cid')
  await writer.policies.insert({ ...POLICY, teams: [TEAM] })
  for (const id of ['rule_0', 'rule_1'])
    await writer.policies.insertRule(AT, {
      ...RULE,
      id,
      name: `rule ${id}`,
      expires_at: '2026-12-31T18:00:00.000Z',
    })
  await writer.policies.deleteRule(AT, 'rule_1')
  await writer.policies.insert({ ...POLICY, id: 'pol_gone', name: 'gone' })
  await writer.policies.insertRule({ ...AT, policyId: 'pol_gone' }, { ...RULE, id: 'rule_gone' })
  await writer.policies.delete('acme', 'pol_gone')
  await writer.devices.insert(device('d0', 'bob'))
  await writer.devices.revoke('d0', LATER)
  await writer.accessTokens.insert(token('t0', { org: 'acme' }))
  await writer.accessTokens.insert(token('t1', { username: 'bob' }))
  await writer.accessTokens.insert(token('t2', { org: 'acme' }, 't0'))
  await writer.enrolmentTokens.insert(enrolmentToken('e0'))
  await writer.webhooks.insert(webhook('w0'), 0)
  for (const username of ['cid', 'eve']) {
    if (username === 'eve')
      await writer.users.insert({ username, password_hash: null, created_at: NOW })
    const invitation = { org: 'acme', username, role: 'member' as const, created_at: NOW }
    await writer.invitations.insert({ ...invitation, invited_by: 'user:ann' })
  }
  await writer.invitations.delete('acme', 'cid')
  await furnishAccess(writer)
}

const REQUEST: AccessRequestRecord = {
  id: '0',
  org: 'acme',
  username: 'bob',
  device_id: null,
  state: 'pending',
  action: 'connect:tcp',
  resources: ['registry.example.com:443', 'mirror.example.com:443'],
  duration_seconds: 3600,
  once: false,
  reason: 'release',
  created_at: NOW,
  due_at: LATER,
  decided_at: null,
  decided_by: null,
  answer: null,
  grant: null,
}
const APPROVED: AccessRequestRecord = {
  ...REQUEST,
  state: 'approved',
  decided_at: NOW,
  decided_by: 'user:ann',
  grant: { not_before: NOW, expires_at: LATER, resources: ['mirror.example.com:443'] },
}

/** A request that waits, a grant, one that was revoked, approvers, and grants of machines. */
async function furnishAccess({ accessRequests, grants }: StoreWriter): Promise<void> {
  for (const id of ['req_0', 'req_1', 'req_2']) await accessRequests.insert({ ...REQUEST, id })
  for (const id of ['req_1', 'req_2']) await accessRequests.update({ ...APPROVED, id }, 'pending')
  const ended = { state: 'revoked', due_at: null, answer: 'done' } as const
  await accessRequests.update({ ...APPROVED, id: 'req_2', ...ended }, 'approved')
  for (const username of ['ann', 'bob']) await accessRequests.addApprover('acme', TEAM, username)
  await accessRequests.removeApprover('acme', TEAM, 'bob')
  await grants.insert({
    id: 'grant_0',
    org: 'acme',
    device_id: 'd0',
    reason: 'outage',
    issued_by: 'user:ann',
    issued_at: NOW,
    use_by: LATER,
    duration_seconds: 60,
    over_at: LATER,
  })
}
