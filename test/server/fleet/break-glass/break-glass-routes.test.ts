import { grantSchema, listEventsResponseSchema, type Grant } from '@palisade/protocol'
import { createPublicKey, verify } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { formatCanonicalJson } from '../../../../server/src/history/canonical-json.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const HOUR_MS = 3_600_000
const PASSWORD = 'a long enough password'
const WANTED = { reason: 'the office is offline', duration_seconds: 3600 }
/** Longer than the default, for a busy machine. */
const PATIENCE = { timeout: 300_000 }

describe('a break-glass grant', () => {
  let test: TestServer
  let org: string
  let alice: string
  let owner: Owner
  let device: TestDevice

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    device = await enrolTestDevice(test, owner.as, org, { user: alice })
  })

  /** The server's time after so long, in whole seconds. */
  const timeIn = (ms: number): string =>
    new Date(test.now() + ms).toISOString().replace(/\.\d+Z$/, 'Z')
  const milliseconds = (time: string): string => new Date(time).toISOString()
  /** A session is shorter than a grant. */
  const signInAgain = async () => test.signIn(alice, owner.personalToken)
  const idOf = ({ enrolment }: TestDevice): string => enrolment.device_id
  const urlOf = (id = idOf(device), of = org) => `/api/v1/orgs/${of}/devices/${id}/break-glass`
  const issue = (payload: object = WANTED, as = owner.as, url = urlOf()) =>
    test.send('POST', url, { as, payload })
  const statusOf = async (...asked: Parameters<typeof issue>) => (await issue(...asked)).statusCode
  const list = async (as = owner.as, url = urlOf()) => test.send('GET', url, { as })

  async function issued(payload: object = WANTED): Promise<Grant> {
    const answer = await issue(payload)
    expect(answer.statusCode, answer.body).toBe(201)
    return grantSchema.parse(answer.json())
  }

  async function isSigned({ signed, signatures }: Grant, role: string): Promise<boolean> {
    const records = await test.store.read((reader) => reader.trust.keys(org))
    const record = records.find((key) => key.role === role)
    const { x = '' } = record?.private_jwk ?? {}
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    const sig = Buffer.from(signatures[0]?.sig ?? '', 'hex')
    expect(signatures).toHaveLength(1)
    return verify(null, Buffer.from(formatCanonicalJson(signed)), key, sig)
  }

  it('contains machine, reason, issuer, end and duration, signed by the targets key', async () => {
    const grant = await issued({ ...WANTED, use_within_seconds: 7200 })

    expect(grant.signed).toEqual({
      _type: 'break_glass_grant',
      version: 1,
      org,
      device_id: idOf(device),
      id: expect.any(String),
      reason: 'the office is offline',
      issued_by: `user:${alice}`,
      issued: timeIn(0),
      use_by: timeIn(2 * HOUR_MS),
      duration_seconds: 3600,
    })
    expect(await isSigned(grant, 'targets')).toBe(true)
    expect(await isSigned(grant, 'online')).toBe(false)
    expect((await issued()).signed).toMatchObject({ use_by: timeIn(24 * HOUR_MS) })
  })

  it('is in the history with its reason and issuer', async () => {
    const { id, issued: _issued, ...signed } = (await issued()).signed

    const url = `/api/v1/orgs/${org}/events?kind=break_glass.issued`
    const answer = await test.send('GET', url, { as: owner.as })
    const { data } = listEventsResponseSchema.parse(answer.json())
    expect(data).toMatchObject([
      {
        actor: `user:${alice}`,
        subject: { id, name: null },
        before: null,
        after: { id, device_id: signed.device_id, reason: signed.reason, duration_seconds: 3600 },
      },
    ])
    expect(answer.body).not.toContain('signatures')
  })

  it('is listed with its start until it can no longer start or be in force', async () => {
    const [first, second] = [
      (await issued({ ...WANTED, use_within_seconds: 3600 })).signed,
      (await issued({ ...WANTED, reason: 'second' })).signed,
    ]
    const other = await enrolTestDevice(test, owner.as, org)
    const idsIn = async (url = urlOf()) =>
      (await list(await signInAgain(), url))
        .json<{ data: { id: string }[] }>()
        .data.map(({ id }) => id)
    expect((await list()).json()).toMatchObject({
      data: expect.arrayContaining([
        {
          id: first.id,
          reason: first.reason,
          issued_by: `user:${alice}`,
          issued_at: milliseconds(timeIn(0)),
          use_by: milliseconds(timeIn(HOUR_MS)),
          duration_seconds: 3600,
        },
      ]),
    })
    expect(await idsIn(urlOf(idOf(other)))).toEqual([])

    const break_glass = { grant_id: first.id, begun_at: timeIn(HOUR_MS / 2) }
    const payload = { revision: 1, state: 'break_glass', agent_version: '1', break_glass }
    const told = await test.send('POST', '/api/v1/device/report', { as: device, payload })
    expect(told.statusCode, told.body).toBe(200)
    await expect
      .poll(async () => (await list()).json(), PATIENCE)
      .toMatchObject({
        data: expect.arrayContaining([
          expect.objectContaining({ id: first.id, begun_at: break_glass.begun_at }),
        ]),
      })
    const fleet = await test.send('GET', `/api/v1/orgs/${org}/devices?state=break_glass`, {
      as: owner.as,
    })
    expect(fleet.json()).toMatchObject({ data: [{ id: idOf(device), break_glass }] })

    test.advance(2 * HOUR_MS)
    expect(await idsIn()).toEqual([second.id])
    test.advance(23 * HOUR_MS)
    expect(await idsIn()).toEqual([])
  })

  it.each([
    ['no reason', { duration_seconds: 3600 }],
    ['an empty reason', { ...WANTED, reason: '' }],
    ['a blank reason', { ...WANTED, reason: '  ' }],
    ['a long reason', { ...WANTED, reason: 'r'.repeat(257) }],
    ['a reason of two lines', { ...WANTED, reason: 'a\nb' }],
    ['a reason that steers terminals', { ...WANTED, reason: 'a\u001b[2J' }],
    ['a reason that turns text around', { ...WANTED, reason: 'a\u202eb' }],
    ['a reason with half a character', { ...WANTED, reason: 'a\ud800' }],
    ['no duration', { reason: 'x' }],
    ['a duration below a minute', { ...WANTED, duration_seconds: 59 }],
    ['a duration above a day', { ...WANTED, duration_seconds: 86_401 }],
    ['a broken duration', { ...WANTED, duration_seconds: 60.5 }],
    ['a duration that is a text', { ...WANTED, duration_seconds: '3600' }],
    ['a use that may come within seconds', { ...WANTED, use_within_seconds: 59 }],
    ['a use that may come after months', { ...WANTED, use_within_seconds: 2_592_001 }],
    ['a use that is null', { ...WANTED, use_within_seconds: null }],
    ['an unknown member', { ...WANTED, device_id: 'd2' }],
  ])('is refused with %s', async (_title, payload) => {
    const refused = await issue(payload)

    expect([refused.statusCode, refused.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_argument' } },
    ])
    expect((await list()).json()).toEqual({ data: [] })
  })

  it('may last from a minute to a day, and wait up to 30 days', async () => {
    const month = { use_within_seconds: 2_592_000 }

    expect(await statusOf({ ...WANTED, duration_seconds: 60, use_within_seconds: 60 })).toBe(201)
    expect(await statusOf({ ...WANTED, duration_seconds: 86_400, ...month })).toBe(201)
  })

  it('is issued and seen only by administrators of the organization', async () => {
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    const bob = await owner.addMember(freshName('bob'), 'member', PASSWORD)
    const eve = await owner.addMember(freshName('eve'), 'editor', PASSWORD)
    const admin = await owner.organizationToken(['organization:admin'])
    const reader = await owner.organizationToken(['policies:read', 'policies:write', 'audit:read'])
    const both = async (as: string, url = urlOf()) => [
      await statusOf(WANTED, as, url),
      (await list(as, url)).statusCode,
    ]

    expect(await both(owner.as)).toEqual([201, 200])
    expect(await both(admin)).toEqual([201, 200])
    for (const as of [bob, eve, reader]) expect(await both(as)).toEqual([403, 403])
    expect(await both(rival.as)).toEqual([404, 404])
    expect(await both(rival.as, urlOf(idOf(device), theirs))).toEqual([404, 404])
    expect(await both(owner.as, urlOf('no-such-device'))).toEqual([404, 404])
    expect((await test.send('POST', urlOf(), { payload: WANTED })).statusCode).toBe(401)
    expect((await test.send('POST', urlOf(), { as: device, payload: WANTED })).statusCode).toBe(401)
    expect((await list()).json<{ data: unknown[] }>().data).toHaveLength(2)
  })

  it('is issued once for repeated requests with one key', async () => {
    const headers = { 'idempotency-key': 'one' }
    const send = () => test.send('POST', urlOf(), { as: owner.as, payload: WANTED, headers })

    const answers = [await send(), await send()]

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201])
    expect(answers[1]?.body).toBe(answers[0]?.body)
    expect((await list()).json<{ data: unknown[] }>().data).toHaveLength(1)
  })

  it('is not issued for a revoked device, or one whose user has left', async () => {
    const bob = freshName('bob')
    await owner.addMember(bob, 'member', PASSWORD)
    const left = urlOf(idOf(await enrolTestDevice(test, owner.as, org, { user: bob })))
    await test.send('DELETE', `/api/v1/orgs/${org}/members/${bob}`, { as: owner.as })
    await test.send('DELETE', `/api/v1/orgs/${org}/devices/${idOf(device)}`, { as: owner.as })

    expect([await statusOf(), await statusOf(WANTED, owner.as, left)]).toEqual([409, 409])
  })

  it('is not issued without governance, or without a limit', async () => {
    for (let count = 0; count < 20; count += 1) expect(await statusOf()).toBe(201)
    const refused = await issue()
    expect([refused.statusCode, refused.json()]).toMatchObject([
      403,
      { error: { code: 'limit_exceeded' } },
    ])
    test.advance(26 * HOUR_MS)
    const as = await signInAgain()
    expect(await statusOf(WANTED, as)).toBe(201)

    await test.store.transaction((writer) => writer.organizations.updateEntitled(org, false))
    expect(await statusOf(WANTED, as)).toBe(403)
  })
})
