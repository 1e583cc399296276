import { describe, expect, it } from 'vitest'
import {
  createServerClient,
  type ServerClient,
} from '../../../packages/client/src/server/server-client.ts'
import { newProver } from '../../server/test-device.ts'
import { openTestServer } from '../../server/test-server.ts'

interface Setting {
  readonly url: string
  readonly owner: ServerClient
  readonly as: (username: string, secret: string) => ServerClient
  /** The server's clock. */
  readonly now: () => number
}

/** The real server on a free port, with organization acme and its owner alice. */
async function openServer(settings: Record<string, string> = {}): Promise<Setting> {
  const { server, createOrganization, now } = await openTestServer(undefined, { settings })
  const { personal_token } = await createOrganization('acme', 'alice')
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const as = (username: string, secret: string): ServerClient =>
    createServerClient({ server: url, credentials: { username, secret } })
  return { url, as, now, owner: as('alice', personal_token) }
}

describe('the client and the real server', () => {
  it('agree on policies and rules', async () => {
    const { owner } = await openServer()
    const { policies, rules } = owner.organization('acme')

    const created = await policies.create({ name: 'web' })
    const rule = await rules.add(created.id, {
      name: 'api',
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: ['*.example.com:443'],
    })
    const changed = await rules.update(created.id, rule.id, { decision: 'deny' })
    const renamed = await policies.update(created.id, { name: 'web 2' })
    const whole = await policies.get(created.id)
    const ids: string[] = []
    for await (const policy of policies.list({ pageSize: 1 })) ids.push(policy.id)
    const removed = await rules.delete(created.id, rule.id)
    const gone = await policies.delete(created.id)

    expect(changed).toMatchObject({ old: { decision: 'allow' }, new: { decision: 'deny' } })
    expect(renamed).toMatchObject({ old: { name: 'web' }, new: { name: 'web 2' } })
    expect(whole.allowlist_v0?.rules).toEqual([changed.new])
    expect(ids).toEqual([created.id])
    expect(removed).toEqual(changed.new)
    expect(gone.id).toBe(created.id)
    await expect(policies.get(created.id)).rejects.toMatchObject({
      code: 'ERR_API',
      api: { status: 404, code: 'not_found' },
    })
  })

  it('agree on lists of several pages', async () => {
    const { owner } = await openServer()
    const { policies } = owner.organization('acme')
    for (const name of ['a', 'b', 'c', 'd', 'e']) await policies.create({ name })

    const names: string[] = []
    for await (const policy of policies.list({ pageSize: 2 })) names.push(policy.name)

    expect(names.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('agree on webhooks', async () => {
    const { owner } = await openServer({ PALISADE_WEBHOOK_NETWORKS: '127.0.0.1' })
    const { webhooks } = owner.organization('acme')

    const { secret, ...made } = await webhooks.create('http://127.0.0.1:9/hook')
    const changed = await webhooks.update(made.id, { enabled: false })
    const rotated = await webhooks.rotateSecret(made.id)

    expect(changed).toEqual({ ...made, enabled: false })
    expect(rotated.secret).not.toBe(secret)
    expect(await webhooks.get(made.id)).toEqual(changed)
    expect(await webhooks.list()).toEqual([changed])
    expect(await webhooks.deliveries(made.id, { state: 'dead' })).toEqual([])
    await expect(webhooks.redeliver(made.id, 'evt_1_x')).rejects.toMatchObject({
      api: { status: 404 },
    })
    await webhooks.delete(made.id)
    expect(await webhooks.list()).toEqual([])
  })

  it('agree on events, page by page', async () => {
    const { owner } = await openServer()
    const { events, policies } = owner.organization('acme')
    for (let index = 0; index < 101; index += 1)
      await policies.create({ name: `${index}` }).catch(() => null)

    const sequences: number[] = []
    for await (const event of events.list({ actor: 'user:alice' })) sequences.push(event.sequence)
    const page = await events.page(null, { kind: 'organization.created' })

    expect(sequences).toEqual(Array.from({ length: 100 }, (_, index) => index + 5))
    expect(page.data.map(({ sequence }) => sequence)).toEqual([1])
    expect(await events.page(page.next_cursor)).toMatchObject({ data: [], has_more: false })
  })

  it('agree on members, teams, tokens and devices', async () => {
    const { owner, as, now } = await openServer()
    const { accessTokens, devices, members, teams } = owner.organization('acme')

    const bob = await members.create({
      username: 'bob',
      role: 'editor',
      password: 'a long enough one',
    })
    const team = await teams.create('research')
    await teams.addMember(team.id, 'bob')
    const listed = await members.list()
    await members.setRole('bob', 'auditor')
    const prove = newProver({ now })
    const machine = await devices.enrol({ user: 'bob', prove })
    await expect(devices.enrol({ prove })).rejects.toMatchObject({ api: { status: 409 } })
    const labelled = await devices.setLabels(machine.device_id, ['vm', 'ci'])
    const token = await accessTokens.create({
      name: 'ci',
      permissions: ['policies:read'],
      expires_in_days: 1,
    })
    const ci = as('acme', token.token)
    await ci.authenticate()

    expect(bob).toMatchObject({ username: 'bob', role: 'editor' })
    expect(listed.find(({ username }) => username === 'bob')?.teams).toEqual([team.id])
    expect(machine).toMatchObject({ org: 'acme', user: 'bob' })
    expect(labelled).toMatchObject({ id: machine.device_id, labels: ['ci', 'vm'] })
    expect(await devices.list()).toEqual([labelled])
    expect((await accessTokens.list()).map(({ id }) => id)).toContain(token.id)
    await expect(ci.organization('acme').policies.create({ name: 'x' })).rejects.toMatchObject({
      api: { status: 403, code: 'permission_denied' },
    })
    await accessTokens.revoke(token.id)
    await expect(as('acme', token.token).authenticate()).rejects.toMatchObject({
      api: { status: 401, code: 'unauthenticated' },
    })
    await teams.removeMember(team.id, 'bob')
    await teams.delete(team.id)
    await members.remove('bob')
    expect(await teams.list()).toEqual([])
  })

  it('agree on errors of bad requests', async () => {
    const { owner, as } = await openServer()
    const { policies, rules } = owner.organization('acme')
    const { id } = await policies.create({ name: 'web' })
    const bad = {
      name: 'n',
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: ['a*.x'],
    } as const

    await expect(
      rules.add(id, { ...bad, actions: ['connect:tcp'], resources: ['a*.x'] }),
    ).rejects.toMatchObject({ api: { status: 400, field: 'resources[0]' } })
    await expect(policies.create({ name: 'web' })).rejects.toMatchObject({ api: { status: 409 } })
    await expect(owner.organization('other').policies.get(id)).rejects.toMatchObject({
      api: { status: 404 },
    })
    await expect(as('alice', 'pal_pat_wrong').authenticate()).rejects.toMatchObject({
      api: { status: 401 },
    })
  })
})
