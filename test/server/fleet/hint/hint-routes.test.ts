import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, headersOf, TEST_ORIGIN, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const URL = '/api/v1/device/hint'
const SETTINGS = { PALISADE_PUBLIC_URL: TEST_ORIGIN }
/** Longer than the default, for a busy machine. */
const PATIENCE = { timeout: 300_000, interval: 10 }

describe('a hint', () => {
  let test: TestServer
  let shared: TestServer
  let org: string
  let owner: Owner
  let device: TestDevice

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    shared = await openTestServer(atEnd, { settings: SETTINGS })
  })
  beforeEach(() => open(shared))

  async function open(server: TestServer): Promise<void> {
    test = server
    org = freshName('acme')
    owner = await openOwner(test, org, freshName('alice'))
    device = await enrolTestDevice(test, owner.as, org)
  }
  /** Opens a server for this test alone. */
  const openOwn = async (settings: Record<string, string> = {}) =>
    open(await openTestServer(onTestFinished, { settings: { ...SETTINGS, ...settings } }))

  const ask = (since: number | string | null, as: TestDevice = device) =>
    test.send('GET', since === null ? URL : `${URL}?since=${since}`, { as })
  const change = async (of = org, as = owner.as) => {
    const payload = { name: `policy ${Math.random()}` }
    const made = await test.send('POST', `/v2/orgs/${of}/governance/policies`, { as, payload })
    expect(made.statusCode, made.body).toBe(201)
    return revisionOf(of)
  }
  const revisionOf = async (of: string) =>
    (await test.store.read((reader) => reader.organizations.find(of)))?.revision ?? -1
  const sample = async (name: string) => {
    const { body } = await test.send('GET', '/metrics')
    const line = body.split('\n').find((each) => each.startsWith(`${name} `))
    return line === undefined ? null : Number(line.slice(name.length + 1))
  }
  const untilWaiting = (count: number) =>
    expect.poll(() => sample('palisade_queue_length{queue="hints"}'), PATIENCE).toBe(count)

  it('has a number and a spread, and comes at once for a missing or old number', async () => {
    const revision = await change()
    const hint = { revision, spread_seconds: 0.00125 }

    const first = await ask(null)
    expect([first.statusCode, first.json()]).toEqual([200, hint])
    expect(first.headers['cache-control']).toBe('no-store')
    expect((await ask(revision - 1)).json()).toEqual(hint)
    expect((await ask(999_999_999_999_999)).json()).toEqual(hint)
  })

  it('comes when the organization changes, but not for another organization', async () => {
    const rival = freshName('rival')
    const { as } = await openOwner(test, rival, freshName('rita'))
    const revision = await change()
    const theirs = await enrolTestDevice(test, as, rival)
    const waiting = ask(revision)
    const foreign = ask(await revisionOf(rival), theirs)
    await untilWaiting(2)

    await change(rival, as)
    expect((await foreign).json()).toEqual({
      revision: await revisionOf(rival),
      spread_seconds: 0.00125,
    })
    await untilWaiting(1)
    const next = await change()

    expect((await waiting).json()).toEqual({ revision: next, spread_seconds: 0.00125 })
  })

  it('comes for a commit that was not announced', async () => {
    const revision = await change()
    const waiting = ask(revision)
    await untilWaiting(1)

    await test.store.transaction((writer) => writer.organizations.updateEntitled(org, true))

    expect((await waiting).json()).toMatchObject({ revision: revision + 1 })
  })

  it('returns the known number when the wait ends without a change', async () => {
    await openOwn({ PALISADE_HINT_SECONDS: '1' })
    const revision = await change()

    const answer = await ask(revision)

    expect([answer.statusCode, answer.json()]).toEqual([200, { revision, spread_seconds: 0 }])
  })

  it('has one waiting request for each device: a later one ends the former', async () => {
    await openOwn()
    const revision = await change()
    const former = ask(revision)
    await untilWaiting(1)
    const later = ask(revision)

    expect((await former).json()).toEqual({ revision, spread_seconds: 0 })
    await untilWaiting(1)
    await test.server.close()
    expect((await later).json()).toEqual({ revision, spread_seconds: 0.00125 })
  })

  it('keeps the waiting request of a device when an older one is replayed', async () => {
    const revision = await change()
    const url = `${URL}?since=${revision}`
    const older = headersOf(device, 'GET', url)
    test.advance(1_000)
    const headers = headersOf(device, 'GET', url)
    const waiting = test.send('GET', url, { headers })
    await untilWaiting(1)

    for (const recorded of [headers, older]) {
      const answer = await test.send('GET', url, { headers: recorded })
      expect([answer.statusCode, answer.json()]).toMatchObject([
        401,
        { error: { code: 'unauthenticated' } },
      ])
    }

    const next = await change()
    expect((await waiting).json()).toMatchObject({ revision: next })
  })

  it('does not use room of the replay guard', async () => {
    const headers = headersOf(device, 'GET', URL)
    const twice = [
      await test.send('GET', URL, { headers }),
      await test.send('GET', URL, { headers }),
    ]
    expect(twice.map(({ statusCode }) => statusCode)).toEqual([200, 200])
  })

  it('is restricted to live devices with a proof for this request', async () => {
    const { authorization } = headersOf(device, 'GET', URL)
    const { dpop } = headersOf(device, 'GET', '/api/v1/device/view')
    for (const options of [
      {},
      { as: owner.as },
      { headers: { authorization } },
      { headers: { authorization, dpop } },
    ])
      expect((await test.send('GET', URL, options)).statusCode).toBe(401)

    await revoke()
    expect((await ask(null)).statusCode).toBe(401)
  })

  const revoke = async () => {
    const url = `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}`
    expect((await test.send('DELETE', url, { as: owner.as })).statusCode).toBe(204)
  }

  it('does not reach a device revoked while it waits', async () => {
    const other = await enrolTestDevice(test, owner.as, org)
    const revision = await change()
    const [waiting, good] = [ask(revision), ask(revision, other)]
    await untilWaiting(2)
    await revoke()

    const next = await change()

    expect((await waiting).statusCode).toBe(401)
    expect((await good).json()).toMatchObject({ revision: next })
  })

  it('is answered before the token of the request expires', async () => {
    await openOwn({ PALISADE_DEVICE_TOKEN_MINUTES: '1' })
    const revision = await change()
    test.advance(58_500)

    const answer = await ask(revision)

    expect([answer.statusCode, answer.json()]).toEqual([200, { revision, spread_seconds: 0 }])
  })

  it('refuses other query parameters', async () => {
    const number = 'since=9999999999999999'
    for (const query of ['since=-1', 'since=x', 'since=', 'since=1&since=2', number, 'x=1'])
      expect((await test.send('GET', `${URL}?${query}`, { as: device })).statusCode).toBe(400)
  })

  it('has limits of waiting requests for an organization and in total', async () => {
    await openOwn({ PALISADE_MAX_HINTS: '3', PALISADE_MAX_HINTS_OF_ORG: '2' })
    const rival = freshName('rival')
    const { as } = await openOwner(test, rival, freshName('rita'))
    const enrol = () => enrolTestDevice(test, owner.as, org)
    const ours = [device, await enrol(), await enrol()]
    const theirs = [await enrolTestDevice(test, as, rival), await enrolTestDevice(test, as, rival)]
    const [revision, rivals] = [await change(), await change(rival, as)]
    const waiting = ours.slice(0, 2).map((each) => ask(revision, each))
    await untilWaiting(2)

    const third = await ask(revision, ours[2])
    expect(third.statusCode).toBe(503)
    expect(Number(third.headers['retry-after'])).toBeGreaterThanOrEqual(30)
    expect(Number(third.headers['retry-after'])).toBeLessThan(286)
    waiting.push(ask(rivals, theirs[0]))
    await untilWaiting(3)
    expect((await ask(rivals, theirs[1])).statusCode).toBe(503)
    // An answer without a wait needs no slot.
    await expect.poll(async () => (await ask(null, theirs[1])).statusCode, PATIENCE).toBe(200)

    await test.server.close()
    for (const answer of await Promise.all(waiting)) expect(answer.statusCode).toBe(200)
  })

  it('is spread by the cost of an update for each waiting machine', async () => {
    const revision = await change()
    for (let count = 0; count < 4; count += 1)
      await ask(null, await enrolTestDevice(test, owner.as, org))

    for (const since of [null, revision - 1])
      expect((await ask(since)).json()).toEqual({ revision, spread_seconds: 0.00625 })
  })

  it('is 404 when hints are off', async () => {
    await openOwn({ PALISADE_HINT_SECONDS: '0' })
    expect((await ask(null)).statusCode).toBe(404)
  })

  it('is left out of the histogram of requests', async () => {
    const route = 'method="GET",route="/api/v1/device/hint"'
    const answered = async () =>
      (await sample(`palisade_http_requests_total{${route},status="200"}`)) ?? 0
    const before = await answered()
    const waiting = ask(await change())
    await untilWaiting(1)
    await change()
    await waiting

    expect(await answered()).toBe(before + 1)
    expect(await sample(`palisade_http_request_seconds_count{${route}}`)).toBeNull()
  })

  it('holds no read of the store during the wait', async () => {
    const waiting = ask(await change())
    await untilWaiting(1)
    await expect.poll(() => sample('palisade_store_running{operation="read"}'), PATIENCE).toBe(0)
    await change()
    await waiting
  })

  describe('over a connection', () => {
    let port: number

    beforeAll(async () => {
      port = await listen(shared)
    })

    async function listen({ server: { app } }: TestServer): Promise<number> {
      await app.listen({ host: '127.0.0.1', port: 0 })
      return (app.server.address() as AddressInfo).port
    }

    async function send(requests: readonly string[], to = port): Promise<Socket> {
      const socket = connect({ host: '127.0.0.1', port: to })
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(requests.join(''))
      return socket
    }
    const format = (as: TestDevice, since: number) => {
      const { authorization, dpop } = headersOf(as, 'GET', URL)
      return (
        `GET ${URL}?since=${since} HTTP/1.1\r\nHost: localhost\r\n` +
        `Authorization: ${authorization}\r\nDPoP: ${dpop}\r\n\r\n`
      )
    }

    it('frees its slot when the machine disconnects', async () => {
      const revision = await change()
      const socket = await send([format(device, revision)])
      await untilWaiting(1)
      socket.destroy()
      await untilWaiting(0)
    })

    it('frees the slots of all pipelined requests of a connection', async () => {
      const others = [await enrolTestDevice(test, owner.as, org), device]
      const revision = await change()
      const socket = await send(others.map((each) => format(each, revision)))
      await untilWaiting(2)
      socket.destroy()
      await untilWaiting(0)
    })

    it('is refused to a connection that pipelines too many requests', async () => {
      const revision = await change()
      const socket = await send(Array.from({ length: 20 }, () => format(device, revision)))
      await once(socket, 'close')
      await untilWaiting(0)
    })

    it('is answered at once for all waiting machines when the server stops', async () => {
      await openOwn()
      const revision = await change()
      const socket = await send([format(device, revision)], await listen(test))
      await untilWaiting(1)

      await test.server.close()

      const chunks: string[] = []
      for await (const chunk of socket) chunks.push(String(chunk))
      expect(chunks.join('')).toContain(JSON.stringify({ revision, spread_seconds: 0.00125 }))
    })
  })
})
