import { beforeEach, describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import {
  describeFaults,
  verifyOrganization,
} from '../../../server/src/history/verify-organization.ts'
import { openTestServer } from '../test-server.ts'
import { NOW } from './audit/audited-records.ts'
import { createDatabaseFile, type DatabaseFile } from './database-file.ts'
import { furnish } from './furnished-organization.ts'

describe('comparing the stored state with the history', () => {
  let database: DatabaseFile
  beforeEach(async () => {
    database = createDatabaseFile()
    await database.withStore((store) =>
      createAuditedStore({ store, now: () => new Date(NOW) }).write(OPERATOR, furnish),
    )
  })
  const faults = async () =>
    describeFaults(
      await database.withStore((store) =>
        store.read((reader) => verifyOrganization(reader, 'acme', { state: true })),
      ),
    )

  it('finds no difference in a state written by the server', async () => {
    expect(await faults()).toEqual([])
  })

  it.each([
    [
      'a widened rule',
      `UPDATE rules SET resources = '["**"]'`,
      /rule `rule rule_0`: `resources` not as in event \d+$/,
    ],
    [
      'a rule with another decision',
      `UPDATE rules SET decision = 'deny'`,
      /rule `rule rule_0`: `decision` not as in event \d+$/,
    ],
    [
      'a rule without its expiry',
      `UPDATE rules SET expires_at = NULL`,
      /rule `rule rule_0`: `expires_at` not as in event \d+$/,
    ],
    [
      'a policy that decides nothing any more',
      `UPDATE policies SET mode = 'shadow'`,
      /policy `one`: `mode` not as in event \d+$/,
    ],
    [
      'a default decision of the organization',
      `UPDATE organizations SET default_decision = 'observe'`,
      /organization `acme`: `default` not as in event \d+$/,
    ],
    [
      'a support message of the organization',
      `UPDATE organizations SET support_message = 'Call the attacker'`,
      /organization `acme`: `support_message` not as in event \d+$/,
    ],
    [
      'a default decision of a team',
      `UPDATE teams SET default_decision = 'observe'`,
      /team `backend`: `default` not as in event \d+$/,
    ],
    [
      'an inserted rule',
      `INSERT INTO rules (policy_id, id, name, actions, decision, resources)
       SELECT policy_id, 'rule_x', 'x', actions, decision, resources FROM rules`,
      /rule `x`: stored, but no event created it$/,
    ],
    [
      'a deleted rule',
      'DELETE FROM rules',
      /rule `rule rule_0`: not stored, but event \d+ recorded it$/,
    ],
    [
      'a team policy made organization-wide',
      'DELETE FROM policy_teams',
      /policy `.*`: `scope` not as in event \d+$/,
    ],
    [
      'an invitation with another role',
      `UPDATE invitations SET role = 'owner'`,
      /invitation `eve`: `role` not as in event \d+$/,
    ],
    [
      'an inserted invitation',
      `INSERT INTO invitations SELECT org, 'bob', role, invited_by, created_at FROM invitations`,
      /invitation `bob`: stored, but no event created it$/,
    ],
    [
      'a deleted invitation',
      `INSERT INTO invitations SELECT org, 'cid', role, invited_by, created_at FROM invitations`,
      /invitation `cid`: stored, but event \d+ deleted it$/,
    ],
    [
      'a role',
      `UPDATE memberships SET role = 'owner' WHERE username = 'bob'`,
      /member `bob`: `role` not as in event \d+$/,
    ],
    [
      'a restored member',
      `INSERT INTO memberships (org, username, role) VALUES ('acme', 'cid', 'owner')`,
      /member `cid`: stored, but event \d+ deleted it$/,
    ],
    [
      'a member of a team',
      `DELETE FROM team_members`,
      /member `bob`: `teams` not as in event \d+$/,
    ],
    ['the name of a team', `UPDATE teams SET name = 'x'`, /team `x`: `name` not as in event \d+$/],
    [
      'a wider grant',
      `UPDATE access_requests
       SET granted = replace(granted, 'mirror.example.com:443', '**.evil.org')`,
      /access request `bob`: `grant` not as in event \d+$/,
    ],
    [
      'a wider request',
      `UPDATE access_requests SET resources = '["**.evil.org"]' WHERE state = 'pending'`,
      /access request `bob`: `resources` not as in event \d+$/,
    ],
    [
      'a grant that was revoked',
      `UPDATE access_requests SET state = 'approved' WHERE state = 'revoked'`,
      /access request `bob`: stored, but event \d+ deleted it$/,
    ],
    [
      'a request that was approved past the server',
      `UPDATE access_requests SET state = 'approved' WHERE state = 'pending'`,
      /access request `bob`: `state` not as in event \d+$/,
    ],
    [
      'an approver',
      `INSERT INTO team_approvers SELECT org, id, 'bob' FROM teams`,
      /approver `backend`: stored, but event \d+ deleted it$/,
    ],
    [
      'a longer break-glass grant',
      'UPDATE break_glass_grants SET duration_seconds = 999999',
      /break glass `grant_0`: `duration_seconds` not as in event \d+$/,
    ],
    [
      'a setting',
      'UPDATE organizations SET resolve_unlisted_names = 0',
      /organization `acme`: `resolve_unlisted_names` not as in event \d+$/,
    ],
    [
      'inserted settings of the distribution',
      `INSERT INTO distribution_settings (org, settings)
         VALUES ('acme', '{"offline_allow":["x.example:443"]}')`,
      /distribution `acme`: stored, but no event created it$/,
    ],
    [
      'inserted settings of the evidence',
      `INSERT INTO evidence_settings (org, settings)
         VALUES ('acme', '{"upload":"off","users":true}')`,
      /evidence `acme`: stored, but no event created it$/,
    ],
    [
      'inserted limits on access requests',
      `INSERT INTO access_settings (org, settings)
         VALUES ('acme', '{"longest_seconds":2592000}')`,
      /access `acme`: stored, but no event created it$/,
    ],
    [
      'a restored device',
      'UPDATE devices SET revoked_at = NULL',
      /device `bob`: `revoked_at` not as in event \d+$/,
    ],
    [
      'a widened token',
      `UPDATE access_tokens SET permissions = '["organization:admin"]' WHERE id = 't0'`,
      /access token `token t0`: `permissions` not as in event \d+$/,
    ],
    [
      'a token without the one that made it',
      `UPDATE access_tokens SET parent_id = NULL WHERE id = 't2'`,
      /access token `token t2`: `parent_id` not as in event \d+$/,
    ],
    [
      'a token of another maker',
      `UPDATE access_tokens SET created_by = 'user:eve' WHERE id = 't2'`,
      /access token `token t2`: `created_by` not as in event \d+$/,
    ],
    [
      'an enrolment token with another parent and maker',
      `UPDATE enrolment_tokens SET parent_id = 't1', created_by = 'operator'`,
      /enrolment token `token e0`: `created_by`, `parent_id` not as in event \d+$/,
    ],
    [
      'a device with another key',
      `UPDATE devices SET thumbprint = 'another'`,
      /device `bob`: `thumbprint` not as in event \d+$/,
    ],
    [
      'a grant that another user decided',
      `UPDATE access_requests SET decided_by = 'user:bob' WHERE state = 'approved'`,
      /access request `bob`: `decided_by` not as in event \d+$/,
    ],
    [
      'an account of another organization',
      `INSERT INTO account_organizations VALUES ('bob', 'acme')`,
      /account `bob`: stored, but no event created it$/,
    ],
    [
      'a webhook with another URL',
      `UPDATE webhooks SET url = 'https://x.example/'`,
      /webhook `.*`: `url`/,
    ],
  ])('names %s', async (_title, statement, fault) => {
    database.tamper(statement)

    expect(await faults()).toEqual([expect.stringMatching(fault)])
  })
})

it('finds no difference after ordinary work over HTTP', async () => {
  const test = await openTestServer()
  const { personal_token } = await test.createOrganization('acme', 'alice')
  const as = await test.signIn('alice', personal_token)
  const api = '/api/v1/orgs/acme'
  const send = async (method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', url: string, body?: object) => {
    const response = await test.send(method, url, {
      as,
      ...(body === undefined ? {} : { payload: body }),
    })
    expect(response.statusCode, response.body).toBeLessThan(300)
    return response.body === '' ? {} : response.json<Record<string, string>>()
  }
  const rule = (name: string) => ({
    name,
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: [`${name}.example.com:443`],
  })
  await send('POST', `${api}/members`, { username: 'bob', role: 'editor' })
  const { id: team = '' } = await send('POST', `${api}/teams`, { name: 'backend' })
  await send('PUT', `${api}/teams/${team}/members/bob`)
  await send('PATCH', `${api}/members/bob`, { role: 'auditor' })
  const policies = ['a', 'b'].map((name) => ({
    name,
    scope: { teams: ['backend'] },
    rules: [rule(`${name}1`), rule(`${name}2`)],
  }))
  await send('POST', `${api}/apply`, { policies })
  const { id: rollout = '' } = await send('POST', `${api}/rollouts`, {
    stages: [{ percent: 100 }],
    max_rejected: { percent: 5 },
  })
  await send('POST', `${api}/apply`, {
    policies: [{ ...policies[0], rules: [rule('a3')] }],
    prune: true,
  })
  await send('POST', `${api}/rollouts/${rollout}/roll-back`)
  await send('PATCH', api, { distribution: { fresh_for_seconds: 7200 } })
  await send('PATCH', api, { evidence: { upload: 'full' } })
  await send('PATCH', api, { resolve_unlisted_names: true })
  await send('POST', `${api}/access-tokens`, {
    name: 'ci',
    permissions: ['policies:read'],
    expires_in_days: 1,
  })
  await send('DELETE', `${api}/teams/${team}?detach=policies&sole=delete`)

  const verdict = await test.store.read((reader) =>
    verifyOrganization(reader, 'acme', { state: true }),
  )

  expect(verdict.history.intact).toBe(true)
  expect(describeFaults(verdict)).toEqual([])
})
