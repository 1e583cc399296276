import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../server/test-server.ts'
import { runCli } from '../run-cli.ts'

const NOW = '2026-11-21T08:00:00.250Z'
const COUNT = 120

const ENDED_ROLLOUT = {
  org: 'acme',
  state: 'finished',
  stages: [{ percent: 100 }],
  stage: 1,
  stage_at: NOW,
  max_rejected: { percent: 5 },
  wait_seconds: null,
  base_revision: 1,
  counted_from: NOW,
  paused_at: null,
  paused_by: null,
  pause_reason: null,
  created_by: 'user:alice',
  ended_at: NOW,
} as const

/** `palisade` as the owner of an organization whose lists are all longer than a page. */
async function openCrowded() {
  const { server, store, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const env = {
    PALISADE_SERVER: await server.app.listen({ host: '127.0.0.1', port: 0 }),
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  await store.transaction(async (writer) => {
    for (let index = 100; index < 100 + COUNT; index += 1) {
      const username = `user-${index}`
      await writer.users.insert({ username, password_hash: null, created_at: NOW })
      await writer.memberships.insert({ org: 'acme', username, role: 'member' })
      await writer.teams.insert({ id: `id-${index}`, org: 'acme', name: `team ${index}` })
      await writer.rollouts.insert({
        ...ENDED_ROLLOUT,
        id: `rollout-${index}`,
        created_at: new Date(Date.parse(NOW) + index).toISOString(),
      })
      await writer.accessTokens.insert({
        kind: 'organization',
        org: 'acme',
        id: `${index}0-token`,
        name: `token ${index}`,
        permissions: [],
        secret_hash: `hash ${index}`,
        created_at: NOW,
        expires_at: '2026-12-21T08:00:00.000Z',
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_0000',
        created_by: 'operator',
        last_used_at: null,
      })
    }
  })
  return async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await runCli(argv, { env, now: () => Date.parse(NOW) })
    expect(`${code} ${err}`, argv.join(' ')).toBe('0 ')
    return out
  }
}

describe('a list of more than one page', () => {
  it('is shown completely, and searched completely by name and id prefix', async () => {
    const ok = await openCrowded()
    const count = async (...argv: string[]): Promise<number> =>
      JSON.parse(await ok(...argv, '--json')).data.length

    expect(await count('member', 'list')).toBe(COUNT + 1)
    expect(await count('team', 'list')).toBe(COUNT)
    expect(await count('token', 'list', '--organization')).toBe(COUNT)
    expect(await count('rollout', 'list')).toBe(COUNT)
    expect(await ok('rollout', 'show')).toContain('rollout-219')
    const revoke = (token: string) => ok('token', 'revoke', token, '--organization', '--yes')
    expect(await revoke('2190')).toContain('`token 219`')
    expect(await revoke('token 218')).toContain('(2180-token)')
    await ok('team', 'add', 'team 219', 'user-219')
    await ok('team', 'delete', 'team 218', '--yes')
    expect(await count('token', 'list', '--organization')).toBe(COUNT - 2)
    expect(await ok('member', 'list')).toMatch(/^user-219 +member +team 219$/m)
  })
})
