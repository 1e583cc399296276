import { enrolmentSchema } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner } from '../../owner.ts'
import {
  enrolTestDevice,
  newProver,
  sendEnrolment,
  TEST_ORIGIN,
  type TestDevice,
} from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const PASSWORD = 'a long enough password'

describe('a device', () => {
  let test: TestServer
  let org: string
  let acme: string
  /** User names. */
  let names: { readonly alice: string; readonly bob: string }
  let alice: string
  let bob: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    org = freshName('acme')
    acme = `/api/v1/orgs/${org}`
    names = { alice: freshName('alice'), bob: freshName('bob') }
    const owner = await openOwner(test, org, names.alice)
    alice = owner.as
    bob = await owner.addMember(names.bob, 'member', PASSWORD)
  })

  async function openRival(): Promise<{ readonly org: string; readonly user: string; as: string }> {
    const [rival, user] = [freshName('rival'), freshName('rita')]
    return { org: rival, user, as: (await openOwner(test, rival, user)).as }
  }

  async function post(url: string, payload: object): Promise<{ id: string }> {
    const response = await test.send('POST', url, { as: alice, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  const enrol = (as: string, payload: object, of = org) => sendEnrolment(test, as, of, payload)

  const machine = (user?: string) =>
    enrolTestDevice(test, alice, org, user === undefined ? {} : { user })
  const enrolled = async (user?: string) => (await machine(user)).enrolment

  const ask = (as?: string | TestDevice) =>
    test.send('GET', '/api/v1/device/view', as === undefined ? {} : { as })
  const statusOf = async (device: TestDevice) => (await ask(device)).statusCode

  describe('is enrolled', () => {
    it('with the root of its organization, and no other’s', async () => {
      const rival = await openRival()
      const theirs = enrolmentSchema.parse((await enrol(rival.as, {}, rival.org)).json())
      const [one, two] = [await enrolled(names.bob), await enrolled()]

      expect(one.root).toBe(two.root)
      expect(JSON.parse(one.root)).toMatchObject({ signed: { _type: 'root', 'x-org': org } })
      expect(theirs.root).not.toBe(one.root)
    })

    it('by an administrator for any member, or without a user', async () => {
      expect(await enrolled(names.bob)).toMatchObject({ org, user: names.bob })
      expect(await enrolled()).toMatchObject({ org, user: null })
      expect(await enrolled()).toMatchObject({ server: 'http://127.0.0.1:8420' })
    })

    it('by a member only for themselves', async () => {
      expect((await enrol(bob, { user: names.bob })).statusCode).toBe(201)
      expect((await enrol(bob, { user: names.alice })).statusCode).toBe(403)
      expect((await enrol(bob, { user: 'nobody' })).statusCode).toBe(403)
      expect((await enrol(bob, {})).statusCode).toBe(403)
    })

    it('once with a proof, which a refusal does not use up', async () => {
      const url = `${acme}/devices`
      const dpop = newProver(test)({ method: 'POST', url: TEST_ORIGIN + url })
      const sendAgain = async (user: string) =>
        (await test.send('POST', url, { as: bob, payload: { user }, headers: { dpop } })).statusCode

      expect([await sendAgain(names.alice), await sendAgain(names.bob)]).toEqual([403, 201])
      expect(await sendAgain(names.bob)).toBe(400)
    })

    it('never for or by a stranger, or without governance', async () => {
      const { user, as: rita } = await openRival()
      const poor = freshName('poor')
      await test.createOrganization(poor, names.alice, false)

      const stranger = await enrol(alice, { user })
      expect([stranger.statusCode, stranger.json().error.field]).toEqual([400, 'user'])
      expect((await enrol(rita, {})).statusCode).toBe(404)
      expect((await enrol('x', {})).statusCode).toBe(401)
      expect((await enrol(alice, {}, poor)).statusCode).toBe(403)
      expect((await enrol(alice, { user: null })).statusCode).toBe(400)
      expect((await enrol(alice, { extra: 1 })).statusCode).toBe(400)
    })
  })

  describe('is answered', () => {
    it('401 for a token that is not its own', async () => {
      const device = await machine(names.bob)
      const flipped = device.token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))

      for (const token of [flipped, 'pal_dat_', 'x', alice])
        expect(await statusOf({ ...device, token })).toBe(401)
      for (const as of [device.token, alice, undefined])
        expect((await ask(as)).statusCode).toBe(401)
      const elsewhere = await test.send('GET', `${acme}/members`, { as: device.token })
      expect(elsewhere.statusCode).toBe(401)
    })

    it('401 while its user is not a member', async () => {
      const device = await machine(names.bob)

      await test.store.transaction((writer) => writer.memberships.delete(org, names.bob))

      expect(await statusOf(device)).toBe(401)
    })

    it('401 once it is revoked or its user has left, even if the user returns', async () => {
      const [ofBob, ofNobody] = [await machine(names.bob), await machine()]
      expect(await statusOf(ofBob)).toBe(200)

      await test.send('DELETE', `${acme}/members/${names.bob}`, { as: alice })
      expect(await statusOf(ofBob)).toBe(401)
      await post(`${acme}/members`, { username: names.bob, role: 'member' })
      expect(await statusOf(ofBob)).toBe(401)

      expect(await statusOf(ofNobody)).toBe(200)
      await test.store.transaction((writer) =>
        writer.devices.revoke(ofNobody.enrolment.device_id, '2026-11-21T08:00:00.000Z'),
      )
      expect(await statusOf(ofNobody)).toBe(401)
    })
  })
})
