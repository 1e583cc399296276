import { beforeAll, describe, expect, it } from 'vitest'
import { openOwner } from '../../owner.ts'
import { enrolTestDevice, headersOf, type TestDevice } from '../../test-device.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const ACME = '/api/v1/orgs/acme'
const DAY_MS = 24 * 60 * 60 * 1000
const TOKEN = { name: 'x', permissions: [], expires_in_days: 1 }
const SETTINGS = {
  PALISADE_MAX_TOKENS_OF_USER: '3',
  PALISADE_MAX_TOKENS_OF_ORG: '2',
  PALISADE_MAX_TEAMS: '3',
  PALISADE_MAX_TEAMS_OF_USER: '2',
  PALISADE_MAX_MEMBERS: '3',
  PALISADE_MAX_DEVICES: '3',
  PALISADE_MAX_DEVICES_OF_USER: '2',
  PALISADE_MAX_ENROLMENT_TOKENS: '2',
  PALISADE_MAX_WEBHOOKS: '2',
}

async function open(settings: Record<string, string> = SETTINGS) {
  const test = await openTestServer(undefined, { settings })
  const { as } = await openOwner(test, 'acme', 'alice')
  const post = (url: string, payload: object) => test.send('POST', url, { as, payload })
  return { test, as, post }
}

describe('the quotas', () => {
  const atEnd = atEndOfTests()
  let shared: TestServer
  beforeAll(async () => {
    shared = await openTestServer(atEnd, { settings: SETTINGS })
  })

  let name = 0
  const fresh = () => `n${(name += 1)}`

  it.each([
    // The owner's first token and membership count.
    ['tokens of a user', 2, '/api/v1/user/access-tokens', () => TOKEN],
    ['tokens of an organization', 2, '/api/v1/orgs/{org}/access-tokens', () => TOKEN],
    ['teams', 3, '/api/v1/orgs/{org}/teams', () => ({ name: fresh() })],
    ['members', 2, '/api/v1/orgs/{org}/members', () => ({ username: fresh(), role: 'member' })],
    [
      'enrolment tokens',
      2,
      '/api/v1/orgs/{org}/enrolment-tokens',
      () => ({ name: fresh(), max_uses: 1, expires_in_days: 1 }),
    ],
    ['webhooks', 2, '/api/v1/orgs/{org}/webhooks', () => ({ url: 'https://hooks.example.com/x' })],
  ] as const)('hold for concurrent creations: %s', async (_title, most, list, payload) => {
    const { org, as } = await openOwner(shared)
    const url = list.replace('{org}', org)
    const post = () => shared.send('POST', url, { as, payload: payload() })

    const answers = await Promise.all(Array.from({ length: 6 }, post))

    const statuses = answers.map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 201)).toHaveLength(most)
    const refused = answers.filter(({ statusCode }) => statusCode === 403)
    expect(refused).toHaveLength(6 - most)
    for (const answer of refused) expect(answer.json().error.code).toBe('limit_exceeded')
  })

  it('do not count tokens that are revoked or expired 30 days ago', async () => {
    const { test, post } = await open()
    const url = `${ACME}/access-tokens`
    const first = await post(url, TOKEN)
    await post(url, { ...TOKEN, expires_in_days: 90 })
    expect((await post(url, TOKEN)).statusCode).toBe(403)

    test.advance(20 * DAY_MS)
    const soon = await openOwnerSession(test, 'one')
    const early = await test.send('POST', url, { as: soon, payload: TOKEN })
    expect(early.statusCode).toBe(403)
    test.advance(11 * DAY_MS)
    const again = await openOwnerSession(test, 'two')

    const made = await test.send('POST', url, { as: again, payload: TOKEN })
    expect(made.statusCode, first.body).toBe(201)
    expect((await test.send('POST', url, { as: again, payload: TOKEN })).statusCode).toBe(403)
    await test.send('DELETE', `${url}/${made.json().id}`, { as: again })
    expect((await test.send('POST', url, { as: again, payload: TOKEN })).statusCode).toBe(201)

    async function openOwnerSession(
      { createOrganization, signIn }: typeof test,
      org: string,
    ): Promise<string> {
      const { personal_token } = await createOrganization(org, 'alice')
      return signIn('alice', personal_token)
    }
  })

  it('do not count enrolment tokens that were revoked with their creator', async () => {
    const { test, as, post } = await open()
    const permissions = ['organization:admin']
    const ci = await post(`${ACME}/access-tokens`, { ...TOKEN, permissions })
    const session = await test.signIn('acme', ci.json().token)
    const payload = { name: 'x', max_uses: 1, expires_in_days: 1 }
    const create = (by: string) =>
      test.send('POST', `${ACME}/enrolment-tokens`, { as: by, payload })
    for (let count = 0; count < 2; count += 1) await create(session)
    expect((await create(as)).statusCode).toBe(403)

    await test.send('DELETE', `${ACME}/access-tokens/${ci.json().id}`, { as })

    expect((await create(as)).statusCode).toBe(201)
  })

  it('bound the teams of a member, who can leave one to join another', async () => {
    const { test, as, post } = await open()
    const made = []
    for (let count = 0; count < 3; count += 1)
      made.push((await post(`${ACME}/teams`, { name: fresh() })).json().id)
    const [first, second, third] = made
    const send = async (method: 'PUT' | 'DELETE', team: string) =>
      (await test.send(method, `${ACME}/teams/${team}/members/alice`, { as })).statusCode
    expect([await send('PUT', first), await send('PUT', second)]).toEqual([200, 200])
    expect(await send('PUT', third)).toBe(403)
    expect(await send('PUT', second)).toBe(200)

    expect(await send('DELETE', first)).toBe(204)

    expect(await send('PUT', third)).toBe(200)
  })

  it('bound the live devices of a user and of the organization', async () => {
    const { test, as } = await open()
    const enrol = (user?: string) => enrolTestDevice(test, as, 'acme', user ? { user } : {})
    const first = await enrol('alice')
    await enrol('alice')
    await expect(enrol('alice')).rejects.toThrow('limit_exceeded')
    await enrol()
    await expect(enrol()).rejects.toThrow('limit_exceeded')

    await test.send('DELETE', `${ACME}/devices/${first.enrolment.device_id}`, { as })

    await enrol('alice')
  })

  it('are lower for devices that a member enrols alone than for those of an owner', async () => {
    const settings = { PALISADE_MAX_OWN_DEVICES: '2', PALISADE_MAX_DEVICES_OF_USER: '3' }
    const test = await openTestServer(undefined, { settings })
    const owner = await openOwner(test, 'acme', 'alice')
    const bob = await owner.addMember('bob', 'editor', 'a long enough password')
    const enrol = (as: string, user: string) => enrolTestDevice(test, as, 'acme', { user })
    const first = await enrol(bob, 'bob')
    await enrol(bob, 'bob')

    await expect(enrol(bob, 'bob')).rejects.toThrow(/limit_exceeded.*ask an owner/)
    await enrol(owner.as, 'bob')
    await expect(enrol(owner.as, 'bob')).rejects.toThrow('limit_exceeded')
    for (let count = 0; count < 3; count += 1) await enrol(owner.as, 'alice')

    await test.send('DELETE', `${ACME}/devices/${first.enrolment.device_id}`, { as: bob })
    // Two are left; the owner enrolled one of them.
    await expect(enrol(bob, 'bob')).rejects.toThrow('limit_exceeded')
  })
})

describe('the rate limits of writes', () => {
  it('bound the changes of one caller per minute, not reads or other callers', async () => {
    const { test, as, post } = await open({ PALISADE_MAX_WRITES_PER_MINUTE: '5' })
    const { personal_token } = await test.createOrganization('rival', 'rita')
    const rita = await test.signIn('rita', personal_token)
    const team = () => post(`${ACME}/teams`, { name: `t${Math.floor(test.now())}` })
    for (let count = 0; count < 5; count += 1) expect((await team()).statusCode).not.toBe(429)

    const refused = await team()

    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
    expect(refused.json().error.code).toBe('limit_exceeded')
    expect((await test.send('GET', `${ACME}/teams`, { as })).statusCode).toBe(200)
    const payload = { name: 'theirs' }
    const other = await test.send('POST', '/api/v1/orgs/rival/teams', { as: rita, payload })
    expect(other.statusCode).toBe(201)
    test.advance(60_000)
    expect((await team()).statusCode).not.toBe(429)
  })

  it('bound the changes per hour that a member makes for themselves', async () => {
    const { test, as } = await open({ PALISADE_MAX_OWN_WRITES_PER_HOUR: '4' })
    const mine = '/api/v1/user/access-tokens'
    const make = () => test.send('POST', mine, { as, payload: TOKEN })
    for (let count = 0; count < 4; count += 1) {
      const { id } = (await make()).json()
      expect((await test.send('DELETE', `${mine}/${id}`, { as })).statusCode).toBe(204)
    }

    const refused = await make()

    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '3600'])
    await expect(enrolTestDevice(test, as, 'acme', { user: 'alice' })).rejects.toThrow(
      'limit_exceeded',
    )
    const payload = { name: 'a team' }
    expect((await test.send('POST', `${ACME}/teams`, { as, payload })).statusCode).toBe(201)
  })

  it('bound the access that a member asks for and withdraws', async () => {
    const { test, as } = await open({ PALISADE_MAX_OWN_WRITES_PER_HOUR: '4' })
    const requests = `${ACME}/access-requests`
    const payload = {
      action: 'connect:tcp',
      resources: ['registry.example.com:443'],
      duration_seconds: 3600,
      reason: 'release',
    }
    const ask = () => test.send('POST', requests, { as, payload })
    for (let count = 0; count < 4; count += 1) {
      const { id } = (await ask()).json()
      const withdrawn = await test.send('POST', `${requests}/${id}/withdraw`, { as })
      expect(withdrawn.statusCode).toBe(200)
    }

    const refused = await ask()

    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '3600'])
  })
  it('count each KiB of the text that a member asks for', async () => {
    const { test, as } = await open({ PALISADE_MAX_OWN_WRITES_PER_HOUR: '8' })
    const ask = (length: number) =>
      test.send('POST', `${ACME}/access-requests`, { as, payload: requestOf(length) })
    const statuses = [(await ask(4_000)).statusCode, (await ask(4_000)).statusCode]

    const refused = await ask(10)

    expect([...statuses, refused.statusCode]).toEqual([201, 201, 429])
  })

  it('bound the access that the machines of a member ask for together', async () => {
    const { test, as } = await open({ PALISADE_MAX_OWN_WRITES_PER_HOUR: '5' })
    const url = '/api/v1/device/access-requests'
    const enrol = () => enrolTestDevice(test, as, 'acme', { user: 'alice' })
    const ask = async (device: TestDevice) => {
      const headers = headersOf(device, 'POST', url)
      return (await test.send('POST', url, { headers, payload: requestOf(4_000) })).statusCode
    }
    const statuses: number[] = []
    const machines: TestDevice[] = []
    for (let count = 0; count < 5; count += 1) machines.push(await enrol())

    for (const machine of machines) statuses.push(await ask(machine))

    // The member has four times the limit of a machine; the enrolments count too.
    expect(statuses).toEqual([201, 201, 201, 201, 429])
  })
})

function requestOf(length: number) {
  return {
    action: 'read',
    resources: [`/${'x'.repeat(length)}`],
    duration_seconds: 3600,
    reason: 'release',
  }
}
