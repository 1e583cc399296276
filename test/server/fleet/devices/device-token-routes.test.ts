import { createDeviceKey, createProver, type Prove } from '@palisade/client'
import { enrolmentSchema, type CreatedEnrolmentToken, type DeviceView } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import {
  enrolTestDevice,
  fetchDeviceToken,
  headersOf,
  newProver,
  sendTokenRequest,
  TEST_ORIGIN,
  type TestDevice,
} from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const ENROL = '/api/v1/enrol'
const TOKEN = '/api/v1/device/token'
const VIEW = '/api/v1/device/view'
const HOUR_MS = 60 * 60 * 1000

let shared: TestServer
let test: TestServer
let org: string
let acme: string
/** The user name of the owner. */
let name: string
let alice: string

const atEnd = atEndOfTests()
beforeAll(async () => {
  shared = await openTestServer(atEnd)
})
beforeEach(() => open(shared))

async function open(server: TestServer): Promise<void> {
  test = server
  ;[org, name] = [freshName('acme'), freshName('alice')]
  acme = `/api/v1/orgs/${org}`
  const { personal_token } = await test.createOrganization(org, name)
  alice = await test.signIn(name, personal_token)
}

async function created(change: object = {}): Promise<CreatedEnrolmentToken> {
  const payload = { name: 'one', max_uses: 2, expires_in_days: 1, labels: ['ci'], ...change }
  const answer = await test.send('POST', `${acme}/enrolment-tokens`, { as: alice, payload })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}

const secretOf = ({ token }: CreatedEnrolmentToken) => token.split('.')[0] ?? ''

function enrol(secret: string, prove: Prove = newProver(test), headers: object = {}) {
  const dpop = prove({ method: 'POST', url: TEST_ORIGIN + ENROL })
  return test.send('POST', ENROL, { payload: { token: secret }, headers: { dpop, ...headers } })
}

async function uses(): Promise<number[]> {
  const answer = await test.send('GET', `${acme}/enrolment-tokens`, { as: alice })
  return answer.json<{ data: { uses: number }[] }>().data.map((token) => token.uses)
}

describe('a machine with an enrolment token', () => {
  it('is enrolled with its proven key and the labels of the token', async () => {
    const token = await created()
    const prove = newProver(test)

    const answer = await enrol(secretOf(token), prove)

    expect(answer.statusCode, answer.body).toBe(201)
    const enrolment = enrolmentSchema.parse(answer.json())
    expect(enrolment).toMatchObject({ org, user: null, server: 'http://127.0.0.1:8420' })
    const as = { enrolment, prove, token: await fetchDeviceToken(test, prove) }
    const view = (await test.send('GET', VIEW, { as })).json<DeviceView>().signed
    expect(view).toMatchObject({ org, user: null, device_id: enrolment.device_id })
    const listed = await test.send('GET', `${acme}/devices`, { as: alice })
    expect(listed.json().data).toMatchObject([{ id: enrolment.device_id, labels: ['ci'] }])
    const events = await test.send('GET', `${acme}/events?kind=device.enrolled`, { as: alice })
    expect(events.json().data).toMatchObject([
      { actor: `enrolment:${org}:${token.id}`, after: { enrolment_token_id: token.id } },
    ])
  })

  it('gets the root that the token pins, even if there is a newer one', async () => {
    const token = await created({ expires_in_days: 30 })
    const pinned = await test.store.read((reader) => reader.trust.newestRoot(org))
    if (pinned === null) throw new Error('no root')
    await test.store.transaction((writer) =>
      writer.trust.insertRoot({ ...pinned, version: pinned.version + 1 }),
    )

    const { root } = enrolmentSchema.parse((await enrol(secretOf(token))).json())

    expect(root).toBe(Buffer.from(pinned.body).toString())
  })

  it('gets the same device again with the same key, without using the token up', async () => {
    const token = await created({ max_uses: 1 })
    const prove = newProver(test)

    const answers = [await enrol(secretOf(token), prove), await enrol(secretOf(token), prove)]

    expect(answers[1]?.json()).toEqual(answers[0]?.json())
    expect(await uses()).toEqual([1])
  })

  it('is refused with the key of another device, even of a revoked one', async () => {
    const [token, other] = [await created(), await created()]
    const known = await enrolTestDevice(test, alice, org)
    const prove = newProver(test)
    const { device_id } = (await enrol(secretOf(token), prove)).json<{ device_id: string }>()

    expect((await enrol(secretOf(token), known.prove)).statusCode).toBe(409)
    expect((await enrol(secretOf(other), prove)).statusCode).toBe(409)
    await test.send('DELETE', `${acme}/devices/${device_id}`, { as: alice })
    expect((await enrol(secretOf(token), prove)).statusCode).toBe(409)
    expect(await uses()).toEqual([1, 0])
  })

  it('counts towards the limit of the token, even for concurrent requests', async () => {
    const token = await created({ max_uses: 3 })

    const answers = await Promise.all(Array.from({ length: 9 }, () => enrol(secretOf(token))))

    const statuses = answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
    expect(statuses).toEqual([201, 201, 201, 401, 401, 401, 401, 401, 401])
    expect(await uses()).toEqual([3])
    const listed = await test.send('GET', `${acme}/devices`, { as: alice })
    expect(listed.json().data).toHaveLength(3)
  })

  it('gets the same answer for every invalid token', async () => {
    const [revoked, expired, used] = [await created(), await created(), await created()]
    await test.send('DELETE', `${acme}/enrolment-tokens/${revoked.id}`, { as: alice })
    await enrol(secretOf(used))
    await enrol(secretOf(used))
    const flipped = secretOf(used).replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const answers = [
      await enrol(secretOf(revoked)),
      await enrol(secretOf(used)),
      await enrol(flipped),
      await enrol('pal_enr_'),
      await enrol(''),
    ]
    test.advance(24 * HOUR_MS)
    answers.push(await enrol(secretOf(expired)))

    const bodies = answers.map((answer) => {
      expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([
        401,
        'DPoP algs="EdDSA"',
      ])
      return answer.json<{ error: { message: string } }>().error.message
    })
    expect(new Set(bodies).size).toBe(1)
  })

  it('must wait after twenty wrong tokens of its network, unless its token is valid', async () => {
    await open(await openTestServer())
    for (let count = 0; count < 20; count += 1) await enrol(`pal_enr_${count}`)

    const wrong = await enrol('pal_enr_20')

    expect([wrong.statusCode, wrong.headers['retry-after']]).toEqual([429, '60'])
    expect((await enrol(secretOf(await created()))).statusCode).toBe(201)
  })

  it('is refused without governance, and with an invalid proof', async () => {
    const secret = secretOf(await created())
    const ofElsewhere = newProver(test)({ method: 'POST', url: TEST_ORIGIN + TOKEN })
    for (const dpop of ['', 'x', ofElsewhere]) {
      const answer = await enrol(secret, newProver(test), { dpop })
      expect([answer.statusCode, answer.json().error.field]).toEqual([400, 'DPoP'])
    }
    const without = await test.send('POST', ENROL, { payload: { token: secret } })
    expect([without.statusCode, without.json().error.field]).toEqual([400, 'DPoP'])

    await test.store.transaction((writer) => writer.organizations.updateEntitled(org, false))

    expect((await enrol(secret)).statusCode).toBe(403)
    expect(await uses()).toEqual([0])
  })
})

describe('a device token', () => {
  let machine: TestDevice
  let path: string

  beforeEach(async () => {
    machine = await enrolTestDevice(test, alice, org, { user: name })
    const { view } = (await test.send('GET', VIEW, { as: machine })).json<DeviceView>().signed
    path = `${acme}/views/${view}`
  })

  const statusOf = async (url: string, headers: Record<string, string>) =>
    (await test.send('GET', url, { headers })).statusCode
  const bare = (device = machine) => ({ authorization: `DPoP ${device.token}` })

  it('is issued to the key of a device, for the configured time', async () => {
    const answer = await sendTokenRequest(test, machine.prove)

    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^pal_dat_/),
      token_type: 'DPoP',
      expires_in: 3600,
    })
    const settings = { PALISADE_DEVICE_TOKEN_MINUTES: '1' }
    const short = await openTestServer(onTestFinished, { settings })
    const { personal_token } = await short.createOrganization('acme', 'alice')
    const owner = await short.signIn('alice', personal_token)
    const device = await enrolTestDevice(short, owner, 'acme')
    expect((await sendTokenRequest(short, device.prove)).json().expires_in).toBe(60)
    short.advance(60_000)
    expect((await short.send('GET', VIEW, { as: device })).statusCode).toBe(401)
  })

  it('is not issued to an unknown key, a revoked device, or without a proof', async () => {
    expect((await sendTokenRequest(test, newProver(test))).statusCode).toBe(401)
    expect((await test.send('POST', TOKEN)).statusCode).toBe(400)
    await test.send('DELETE', `${acme}/devices/${machine.enrolment.device_id}`, { as: alice })

    const refused = await sendTokenRequest(test, machine.prove)
    // Code and type distinguish it from the 401 of a proxy in front of the server.
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, 'unauthenticated'])
    expect(refused.headers['content-type']).toMatch(/^application\/json/)
  })

  it('alone is enough for a poll, and for nothing else', async () => {
    const files = [`${path}/metadata/1.root.json`, `${path}/targets/policies/x.json`, VIEW]

    expect(await statusOf(`${path}/metadata/timestamp.json`, bare())).toBe(200)
    for (const url of files) expect(await statusOf(url, bare()), url).toBe(401)
    const proven = await test.send('GET', `${path}/metadata/1.root.json`, { as: machine })
    expect(proven.statusCode).toBe(200)
  })

  it('is not a bearer token', async () => {
    const { dpop } = headersOf(machine, 'GET', VIEW)
    const authorization = `Bearer ${machine.token}`

    expect(await statusOf(VIEW, { authorization, dpop })).toBe(401)
    expect(await statusOf(`${path}/metadata/timestamp.json`, { authorization })).toBe(401)
  })

  it('needs a proof by its own key, for this request, used once', async () => {
    const other = await enrolTestDevice(test, alice, org)
    const good = headersOf(machine, 'GET', VIEW)
    const { authorization } = good
    const proofFor = (proven: object, prove = machine.prove) =>
      prove({ method: 'GET', url: TEST_ORIGIN + VIEW, accessToken: machine.token, ...proven })

    expect(await statusOf(VIEW, good)).toBe(200)
    for (const [title, dpop] of Object.entries({
      'used before': good.dpop,
      'by another device': proofFor({}, other.prove),
      'by no device': proofFor({}, newProver(test)),
      'for another token': proofFor({ accessToken: other.token }),
      'for no token': machine.prove({ method: 'GET', url: TEST_ORIGIN + VIEW }),
      'for another method': proofFor({ method: 'POST' }),
      'for another path': proofFor({ url: `${TEST_ORIGIN}${path}/metadata/1.root.json` }),
      'for another server': proofFor({ url: `https://evil.test${VIEW}` }),
    }))
      expect(await statusOf(VIEW, { authorization, dpop }), title).toBe(401)
    expect(await statusOf(VIEW, { authorization, dpop: proofFor({}) })).toBe(200)
    const late = proofFor({})
    test.advance(301_000)
    expect(await statusOf(VIEW, { authorization, dpop: late })).toBe(401)
  })

  it('expires after an hour, even for a cached poll', async () => {
    const url = `${path}/metadata/timestamp.json`
    expect(await statusOf(url, bare())).toBe(200)
    test.advance(HOUR_MS - 1000)
    expect(await statusOf(url, bare())).toBe(200)

    test.advance(1000)

    expect(await statusOf(url, bare())).toBe(401)
    const token = await fetchDeviceToken(test, machine.prove)
    expect(await statusOf(url, bare({ ...machine, token }))).toBe(200)
  })

  it('is refused from the next request after the revocation of its device', async () => {
    const url = `${path}/metadata/timestamp.json`
    const other = await enrolTestDevice(test, alice, org, { user: name })
    for (const each of [machine, other]) expect(await statusOf(url, bare(each))).toBe(200)

    await test.send('DELETE', `${acme}/devices/${machine.enrolment.device_id}`, { as: alice })

    expect(await statusOf(url, bare())).toBe(401)
    expect((await test.send('GET', VIEW, { as: machine })).statusCode).toBe(401)
    expect(await statusOf(url, bare(other))).toBe(200)
  })
})

describe('a server with a public URL', () => {
  it('accepts only proofs for it, regardless of `Host`', async () => {
    const settings = { PALISADE_PUBLIC_URL: 'https://palisade.test' }
    const open = await openTestServer(onTestFinished, { settings })
    const prove = createProver(createDeviceKey(), open.now)
    const ask = (url: string, host: string) =>
      open.send('POST', TOKEN, { headers: { host, dpop: prove({ method: 'POST', url }) } })

    expect((await ask(`https://palisade.test${TOKEN}`, 'inside:8420')).statusCode).toBe(401)
    expect((await ask(`http://inside:8420${TOKEN}`, 'inside:8420')).statusCode).toBe(400)
  })
})
