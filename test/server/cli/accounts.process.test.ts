import { createDeviceKey, createProver } from '@palisade/client'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { runServerCommand, startServerProcess, type RunningServer } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** Each command runs in its own process. */
const PATIENCE = { timeout: 300_000 }

describe('an operator', PATIENCE, () => {
  let settings: { PALISADE_DATA_DIR: string }
  let created: { password: string; personal_token: string }

  beforeEach(async () => {
    settings = { PALISADE_DATA_DIR: join(temporaryDirectory(), 'data') }
    created = JSON.parse(await run('init', '--org', 'acme', '--owner', 'alice', '--json'))
  })

  async function run(...args: string[]): Promise<string> {
    const outcome = await runServerCommand(args, settings)
    expect(`${outcome.status} ${outcome.stderr}`, args.join(' ')).toBe('0 ')
    return outcome.stdout
  }

  async function start(): Promise<RunningServer> {
    const server = await startServerProcess(settings)
    onTestFinished(async () => void (await server.stop('SIGTERM')))
    return server
  }

  const exchange = async ({ url }: RunningServer, username: string, password: string) =>
    fetch(`${url}/v2/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    })

  async function signIn(server: RunningServer, secret: string): Promise<string> {
    const response = await exchange(server, 'alice', secret)
    return ((await response.json()) as { access_token: string }).access_token
  }

  const statusOf = async ({ url }: RunningServer, path: string, token: string) =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status

  it('lists organizations, and switches governance of a running server', async () => {
    const server = await start()
    const alice = await signIn(server, created.personal_token)
    const policies = () => statusOf(server, '/v2/orgs/acme/governance/policies', alice)
    expect(await policies()).toBe(200)

    expect(await run('org', 'unentitle', 'acme')).toContain('`acme` can no longer use governance')
    expect(await policies()).toBe(403)
    const table = await run('org', 'list')
    expect(table).toMatch(/^ORGANIZATION +GOVERNANCE +MEMBERS +POLICIES +DEVICES +REVISION/)
    expect(table).toMatch(/\nacme +not entitled +1 +0 +0 /)

    const { revision } = JSON.parse(await run('org', 'show', 'acme', '--json'))
    const raised = JSON.parse(await run('org', 'raise-revisions', '--json'))
    expect(raised).toEqual({
      data: [{ org: 'acme', revision: expect.any(Number) }],
      ended: { grants: 0, requests: 0 },
    })
    expect(raised.data[0].revision).toBeGreaterThan(revision + 999_999)

    await run('org', 'entitle', 'acme')
    expect(await policies()).toBe(200)
    const chosen = ['--fresh-for', '12h', '--offline-allow', 'vpn.example.com:443', '10.0.0.1']
    expect(await run('org', 'set', 'acme', ...chosen)).toMatch(/^fresh_for_seconds +43200\n/)
    const refused = await runServerCommand(['org', 'set', 'acme', '--fresh-for', '8d'], settings)
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(JSON.parse(await run('org', 'show', 'acme', '--json'))).toMatchObject({
      fresh_for_seconds: 43_200,
      expires_after_seconds: 604_800,
      offline_allow: ['vpn.example.com:443', '10.0.0.1'],
      name: 'acme',
      entitled: true,
      resolve_unlisted_names: false,
      members: 1,
    })
  })

  it('ends access with the revisions, which may have been revoked since a backup', async () => {
    const server = await start()
    const headers = {
      authorization: `Bearer ${await signIn(server, created.personal_token)}`,
      'content-type': 'application/json',
    }
    const requests = `${server.url}/api/v1/orgs/acme/access-requests`
    const send = async (url: string, payload?: object) => {
      const sent = payload === undefined ? {} : { method: 'POST', body: JSON.stringify(payload) }
      const response = await fetch(url, { ...sent, headers })
      return (await response.json()) as { id: string; state: string }
    }
    const wanted = {
      action: 'connect:tcp',
      resources: ['mirror.example.org:443'],
      duration_seconds: 3600,
      reason: 'a release',
    }
    const granted = await send(requests, wanted)
    await send(`${requests}/${granted.id}/approve`, {})
    const waiting = await send(requests, wanted)

    const raised = await run('org', 'raise-revisions')

    expect(raised).toMatch(/\nended 1 grants of access and 1 open requests: /)
    expect(await send(`${requests}/${granted.id}`)).toMatchObject({ state: 'revoked' })
    expect(await send(`${requests}/${waiting.id}`)).toMatchObject({ state: 'rejected' })
  })

  it('revokes all credentials of a user, and sets a new password', async () => {
    const server = await start()
    const byPassword = await signIn(server, created.password)
    const byToken = await signIn(server, created.personal_token)
    const response = await fetch(`${server.url}/api/v1/orgs/acme/access-tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${byPassword}` },
      body: JSON.stringify({
        name: 'ci',
        permissions: ['organization:admin'],
        expires_in_days: 1,
      }),
    })
    const { token } = (await response.json()) as { token: string }
    const devices = `${server.url}/api/v1/orgs/acme/devices`
    const dpop = createProver(createDeviceKey(), Date.now)({ method: 'POST', url: devices })
    const enrolled = await fetch(devices, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${byPassword}`, dpop },
      body: JSON.stringify({ user: 'alice' }),
    })
    expect(enrolled.status).toBe(201)
    const enrolmentTokens = `${server.url}/api/v1/orgs/acme/enrolment-tokens`
    await fetch(enrolmentTokens, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${byPassword}` },
      body: JSON.stringify({ name: 'own', max_uses: 9, expires_in_days: 9 }),
    })

    expect(JSON.parse(await run('user', 'revoke', 'alice', '--json'))).toEqual({
      username: 'alice',
      personal_tokens: 1,
      organization_tokens: 1,
      devices: 1,
    })

    for (const session of [byPassword, byToken])
      expect(await statusOf(server, '/api/v1/user/organizations', session)).toBe(401)
    expect((await exchange(server, 'alice', created.password)).status).toBe(401)
    expect((await exchange(server, 'alice', created.personal_token)).status).toBe(401)
    expect((await exchange(server, 'acme', token)).status).toBe(401)

    const { password } = JSON.parse(await run('user', 'reset-password', 'alice', '--json'))
    const fresh = await signIn(server, password)
    expect(await statusOf(server, '/api/v1/orgs/acme/members', fresh)).toBe(200)
    const left = await fetch(enrolmentTokens, { headers: { authorization: `Bearer ${fresh}` } })
    expect(await left.json()).toEqual({ data: [], next_page_token: null })
    expect(await run('verify-history')).not.toBe('')
  })

  it('gets an error for an unknown name', async () => {
    for (const [message, ...args] of [
      ['there is no organization `x`', 'org', 'show', 'x'],
      ['there is no organization `x`', 'org', 'unentitle', 'x'],
      ['there is no user `x`', 'user', 'revoke', 'x'],
      ['there is no user `x`', 'user', 'reset-password', 'x'],
    ] as const) {
      const outcome = await runServerCommand(args, settings)
      expect([outcome.status, outcome.stdout], args.join(' ')).toEqual([1, ''])
      expect(outcome.stderr).toContain(message)
    }
  })
})
