import type { StoreWriter } from '../../../server/src/store/store.ts'
import {
  AT,
  LATER,
  NOW,
  POLICY,
  RULE,
  TEAM,
  device,
  token,
  webhook,
} from './audit/audited-records.ts'
import { SETTINGS } from './audit/audited-writes.ts'

const OTHER_TEAM = TEAM.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
/** Members, teams, policies and credentials, all of them changed and some deleted. */
export async function furnish(writer: StoreWriter): Promise<void> {
  await writer.organizations.insert(SETTINGS)
  await writer.organizations.updateSettings('acme', { resolve_unlisted_names: true })
  for (const username of ['ann', 'bob', 'cid']) {
    await writer.users.insert({ username, password_hash: null, created_at: NOW })
    await writer.memberships.insert({ org: 'acme', username, role: 'editor' })
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
  await writer.webhooks.insert(webhook('w0'), 0)
  for (const username of ['cid', 'eve']) {
    if (username === 'eve')
      await writer.users.insert({ username, password_hash: null, created_at: NOW })
    const invitation = { org: 'acme', username, role: 'member' as const, created_at: NOW }
    await writer.invitations.insert({ ...invitation, invited_by: 'user:ann' })
  }
  await writer.invitations.delete('acme', 'cid')
}
