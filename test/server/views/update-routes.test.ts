import {
  MAX_UPDATE_DOCUMENTS,
  MAX_UPDATE_ROOTS,
  type Bundle,
  type DeviceView,
} from '@palisade/protocol'
import type { LightMyRequestResponse } from 'fastify'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rotateDistributionKeys } from '../../../server/src/views/keys/rotate-distribution-keys.ts'
import { startOfPeriod } from '../../../server/src/views/publication/renewal.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice, fetchDeviceToken, headersOf, type TestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const UPDATE = '/api/v1/device/update'
const NOTHING = `${UPDATE}?root=1`

describe('an update', () => {
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
    await createPolicy('first')
  })

  async function createPolicy(name: string): Promise<string> {
    const url = `/v2/orgs/${org}/governance/policies`
    const made = await test.send('POST', url, { as: owner.as, payload: { name } })
    expect(made.statusCode, made.body).toBe(201)
    return made.json<{ id: string }>().id
  }

  const send = (url: string, tag?: string) =>
    test.send('GET', url, {
      as: device,
      headers: tag === undefined ? {} : { 'if-none-match': tag },
    })

  interface Read {
    readonly answer: LightMyRequestResponse
    readonly etag: string
    readonly view: string
    readonly names: readonly string[]
    /** Version of the targets file in its snapshot. */
    readonly targets: number
  }

  async function read(url: string): Promise<Read> {
    const answer = await send(url)
    expect(answer.statusCode, answer.body).toBe(200)
    const { assignment, files } = answer.json<Bundle>()
    const names = Object.keys(files)
    const snapshot = files[names.find((name) => name.endsWith('.snapshot.json')) ?? ''] ?? ''
    return {
      answer,
      etag: String(answer.headers.etag),
      view: (JSON.parse(assignment) as DeviceView).signed.view,
      names: names.map((name) => name.replace(/[0-9a-f]{64}\.\w+/, 'HASH.ID')),
      targets: Number(/"targets\.json":.*?"version":(\d+)/.exec(snapshot)?.[1]),
    }
  }
  const after = ({ view, targets }: Read) => `${UPDATE}?root=1&view=${view}&targets=${targets}`

  it('has all files for a new machine, and none for an up-to-date one', async () => {
    const first = await read(NOTHING)

    expect(first.names).toEqual([
      'metadata/timestamp.json',
      expect.stringMatching(/^metadata\/\d+\.snapshot\.json$/),
      `metadata/${first.targets}.targets.json`,
      'targets/policies/HASH.ID.json',
    ])
    expect(first.answer.headers).toMatchObject({
      'cache-control': 'private, no-cache',
      'content-type': 'application/json',
    })
    const same = await send(after(first), first.etag)
    expect([same.statusCode, same.body, same.headers.etag]).toEqual([304, '', first.etag])
    // The same tag of another view is not a match.
    expect((await send(NOTHING, first.etag)).statusCode).toBe(200)
  })

  it('has the entity tag of its timestamp, with which machines poll', async () => {
    const { etag, view } = await read(NOTHING)
    const url = `/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`
    expect((await send(url, etag)).statusCode).toBe(304)
  })

  it('has only the changed files', async () => {
    const first = await read(NOTHING)
    await createPolicy('second')

    const second = await read(after(first))

    expect(second.names).toEqual([
      'metadata/timestamp.json',
      expect.stringMatching(/\.snapshot\.json$/),
      `metadata/${second.targets}.targets.json`,
      'targets/policies/HASH.ID.json',
    ])
    expect(second.targets).toBeGreaterThan(first.targets)
    const nameless = { ...first, targets: second.targets + 7 }
    const both = (await read(after(nameless))).names.filter((name) => name.startsWith('targets/'))
    expect(both).toHaveLength(2)
  })

  it('has at most as many roots as a machine follows at once, oldest first', async () => {
    const writing = createAuditedStore({ store: test.store, now: () => new Date(test.now()) })
    const request = { org, roles: [], rootKey: null, nextRootKey: null } as const
    for (let root = 2; root <= 40; root += 1)
      await rotateDistributionKeys(writing, OPERATOR, request, new Date(test.now()))
    const rootsOf = ({ names }: Read) => names.filter((name) => name.endsWith('.root.json'))
    const from = (first: number, count: number) =>
      Array.from({ length: count }, (_, index) => `metadata/${first + index}.root.json`)

    expect(rootsOf(await read(NOTHING))).toEqual(from(2, MAX_UPDATE_ROOTS))
    expect(rootsOf(await read(`${UPDATE}?root=33`))).toEqual(from(34, 7))
  })

  it('leaves out the targets file if only its keys have changed', async () => {
    const first = await read(NOTHING)
    test.advance(2 * HOUR_MS)
    device = { ...device, token: await fetchDeviceToken(test, device.prove) }

    const later = await read(after(first))

    expect(later.etag).not.toBe(first.etag)
    expect(later.names).toEqual([
      'metadata/timestamp.json',
      expect.stringMatching(/\.snapshot\.json$/),
    ])
  })

  it('reuses the signature of an unchanged assignment for some minutes', async () => {
    const assigned = async () =>
      JSON.parse((await read(NOTHING)).answer.json<Bundle>().assignment) as DeviceView
    const changing = async (members: object, url = `/api/v1/orgs/${org}`) => {
      const answer = await test.send('PATCH', url, { as: owner.as, payload: members })
      expect(answer.statusCode, answer.body).toBe(200)
    }
    const first = await assigned()
    await createPolicy('second')
    test.advance(4 * MINUTE_MS)
    expect(await assigned()).toEqual(first)

    test.advance(MINUTE_MS)
    const second = await assigned()
    expect(Date.parse(second.signed.issued)).toBe(Date.parse(first.signed.issued) + 5 * MINUTE_MS)
    expect(await assigned()).toEqual(second)

    test.advance(-MINUTE_MS)
    expect(Date.parse((await assigned()).signed.issued)).toBe(Math.floor(test.now() / 1000) * 1000)
    const day = await assigned()
    await changing({ distribution: { fresh_for_seconds: 3600 } })
    const hour = await assigned()
    expect(Date.parse(hour.signed.expires)).toBe(Date.parse(day.signed.expires) - 23 * HOUR_MS)

    const writing = createAuditedStore({ store: test.store, now: () => new Date(test.now()) })
    const request = { org, rootKey: null, nextRootKey: null, roles: ['targets'] } as const
    await rotateDistributionKeys(writing, OPERATOR, request, new Date(test.now()))
    const byNewKey = await assigned()
    expect(byNewKey.signed).toEqual(hour.signed)
    expect(byNewKey.signatures).not.toEqual(hour.signatures)
  })

  it('has at most as many policies as a slow connection can transfer in time', async () => {
    const each = 'x'.repeat(1000)
    const resources = Array.from({ length: 150 }, (_, index) => `/${index}${each}`)
    const rule = { name: 'wide', actions: ['read'], decision: 'allow', resources }
    for (let count = 0; count < 5; count += 1) {
      const id = await createPolicy(`large ${count}`)
      const url = `/v2/orgs/${org}/governance/policies/${id}/rules`
      const made = await test.send('POST', url, { as: owner.as, payload: rule })
      expect(made.statusCode, made.body).toBe(201)
    }

    const { answer, names } = await read(NOTHING)

    const sent = names.filter((name) => name.startsWith('targets/')).length
    expect(sent).toBeGreaterThan(1)
    expect(sent).toBeLessThan(6)
    expect(answer.rawPayload.byteLength).toBeLessThan(MAX_UPDATE_DOCUMENTS * 1.2)
  })

  it('needs a proof for each request, until the machine is revoked', async () => {
    expect((await test.send('GET', UPDATE)).statusCode).toBe(401)
    const { authorization } = headersOf(device, 'GET', UPDATE)
    expect((await test.send('GET', UPDATE, { headers: { authorization } })).statusCode).toBe(401)
    expect((await test.send('GET', UPDATE, { as: owner.as })).statusCode).toBe(401)
    const headers = headersOf(device, 'GET', UPDATE)
    expect((await test.send('GET', UPDATE, { headers })).statusCode).toBe(200)
    expect((await test.send('GET', UPDATE, { headers })).statusCode).toBe(401)
    await test.send('DELETE', `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}`, {
      as: owner.as,
    })
    expect((await send(UPDATE)).statusCode).toBe(401)
  })

  it.each(['root=0', 'root=-1', 'root=1e3', 'targets=9999999999999999', 'view=..', 'other=1'])(
    'refuses the query %s',
    async (query) => {
      expect((await send(`${UPDATE}?${query}`)).statusCode).toBe(400)
    },
  )

  it('treats unknown versions as absent', async () => {
    const { view } = await read(NOTHING)
    const most = '9'.repeat(15)
    const { names } = await read(`${UPDATE}?root=${most}&view=${view}&targets=${most}`)
    expect(names).toContain('targets/policies/HASH.ID.json')
  })

  describe('the assignment in it', () => {
    const second = () => Math.floor(test.now() / 1000)
    const ask = async (version: string | null, others: Record<string, string> = {}) => {
      const headers = {
        ...others,
        ...(version === null ? {} : { 'palisade-assignment-version': version }),
      }
      const answer = await test.send('GET', NOTHING, { as: device, headers })
      expect(answer.statusCode, answer.body).toBe(200)
      const { assignment } = answer.json<Bundle>()
      return (JSON.parse(assignment) as DeviceView).signed
    }
    const moveInto = async (team: string) => {
      const teams = `/api/v1/orgs/${org}/teams`
      const made = await test.send('POST', teams, { as: owner.as, payload: { name: team } })
      expect(made.statusCode, made.body).toBe(201)
      const url = `${teams}/${made.json<{ id: string }>().id}/members/${alice}`
      const joined = await test.send('PUT', url, { as: owner.as })
      expect(joined.statusCode, joined.body).toBeLessThan(300)
      return async () => {
        const left = await test.send('DELETE', url, { as: owner.as })
        expect(left.statusCode, left.body).toBeLessThan(300)
      }
    }

    it('has a version, also for a machine that sends none', async () => {
      const version = second()
      expect((await ask(null)).version).toBe(version)
      expect((await ask('0')).version).toBe(version)
    })

    it('keeps its version for the same view, even if the machine claims another', async () => {
      const { version } = await ask('0')
      for (const sent of ['0', String(version), String(second() + 10), '9'.repeat(15)]) {
        test.advance(1000)
        await createPolicy(`after ${sent}`)
        expect((await ask(sent)).version).toBe(version)
      }
    })

    it.each(['0', String(10 ** 9), '9'.repeat(15)])(
      'has the time of the server as issue date when a machine sends %s',
      async (sent) => {
        expect(Date.parse((await ask(sent)).issued)).toBe(second() * 1000)
        const headers = { 'palisade-assigned': String(second() + 295) }
        expect(Date.parse((await ask(sent, headers)).issued)).toBe(second() * 1000)
      },
    )

    it('has a higher version for each change of the view, even within one second', async () => {
      const first = await ask('0')
      const leave = await moveInto('lax')
      const second = await ask('0')
      await leave()
      const third = await ask('0')

      expect(second.view).not.toBe(first.view)
      expect(third.view).toBe(first.view)
      const [low = 0, middle = 0, high = 0] = [first, second, third].map(({ version }) => version)
      expect([middle - low, high - middle]).toEqual([1, 1])
    })

    it('has a higher version than that of a machine which the store has lost', async () => {
      const { version } = await ask('0')
      test.advance(MINUTE_MS)
      expect((await ask(String(version + 60))).version).toBe(version + 61)
      expect((await ask('0')).version).toBe(version + 61)
    })

    it('contains only the nonce of its request', async () => {
      const nonce = 'n'.repeat(22)
      expect(await ask('0', { 'palisade-nonce': nonce })).toMatchObject({ nonce })
      expect(await ask('0')).not.toHaveProperty('nonce')
      expect(await ask(null, { 'palisade-nonce': nonce })).toMatchObject({ nonce })
    })

    it.each([
      ['palisade-assignment-version', ['', '-1', '1.5', 'yesterday', '1'.repeat(16)]],
      ['palisade-nonce', ['', 'n'.repeat(21), 'n'.repeat(65), `${'n'.repeat(22)}=`]],
    ])('returns 400 for a malformed header %s', async (name, values) => {
      for (const value of values) {
        const answer = await test.send('GET', NOTHING, { as: device, headers: { [name]: value } })
        expect(answer.statusCode).toBe(400)
      }
    })
  })

  describe('the timestamp in it, for a machine that needs a newer one', () => {
    const second = () => Math.floor(test.now() / 1000)
    const askAfter = async (after: number | null) => {
      const headers = after === null ? {} : { 'palisade-issued-after': String(after) }
      device = { ...device, token: await fetchDeviceToken(test, device.prove) }
      const answer = await test.send('GET', NOTHING, { as: device, headers })
      expect(answer.statusCode, answer.body).toBe(200)
      const text = answer.json<Bundle>().files['metadata/timestamp.json'] ?? ''
      const { signed } = JSON.parse(text) as { signed: { 'x-issued': string } }
      return Date.parse(signed['x-issued']) / 1000
    }

    beforeEach(async () => {
      // Nothing else is due for an hour.
      const { view } = await read(NOTHING)
      test.advance(startOfPeriod(test.now(), view, HOUR_MS) + HOUR_MS - test.now())
    })

    it('is signed again after ten minutes, but not for other machines', async () => {
      const first = await askAfter(null)
      test.advance(10 * MINUTE_MS - 1000)
      expect(await askAfter(first)).toBe(first)
      test.advance(1000)
      expect(await askAfter(null)).toBe(first)

      expect(await askAfter(first)).toBe(second())
    })

    it('is the current one if that is late enough', async () => {
      const first = await askAfter(null)
      test.advance(20 * MINUTE_MS)

      expect(await askAfter(first - 1)).toBe(first)
    })

    it('is signed at most every ten minutes', async () => {
      await askAfter(null)
      const issues = new Set<number>()
      for (let minute = 0; minute < 59; minute += 1) {
        test.advance(MINUTE_MS)
        for (const after of [second(), 999_999_999_999]) issues.add(await askAfter(after))
      }

      expect(issues.size).toBe(6)
    })

    it('returns 400 for a malformed header', async () => {
      const headers = { 'palisade-issued-after': 'now' }
      expect((await test.send('GET', NOTHING, { as: device, headers })).statusCode).toBe(400)
    })
  })
})
