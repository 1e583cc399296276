import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, headersOf, TEST_ORIGIN, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const URL = '/api/v1/device/hint'
/** A busy machine takes longer than the default second. */
const PATIENCE = { timeout: 300_000, interval: 10 }

describe('a hint', () => {
  let test: TestServer
  let owner: Owner
  let device: TestDevice

  beforeEach(() => open())

  async function open(settings: Record<string, string> = {}): Promise<void> {
    test = await openTestServer(onTestFinished, {
      settings: { PALISADE_PUBLIC_URL: TEST_ORIGIN, ...settings },
    })
    owner = await openOwner(test, 'acme', 'alice')
    device = await enrolTestDevice(test, owner.as, 'acme')
  }

  const ask = (since: number | string | null, as: TestDevice = device) =>
    test.send('GET', since === null ? URL : `${URL}?since=${since}`, { as })
  const change = async (org = 'acme', as = owner.as) => {
    const payload = { name: `policy ${Math.random()}` }
    const made = await test.send('POST', `/v2/orgs/${org}/governance/policies`, { as, payload })
    expect(made.statusCode, made.body).toBe(201)
    return revisionOf(org)
  }
  const revisionOf = async (org: string) =>
    (await test.store.read((reader) => reader.organizations.find(org)))?.revision ?? -1
  const sample = async (name: string) => {
    const { body } = await test.send('GET', '/metrics')
    const line = body.split('\n').find((each) => each.startsWith(`${name} `))
    return line === undefined ? null : Number(line.slice(name.length + 1))
  }
  const untilWaiting = (count: number) =>
    expect.poll(() => sample('palisade_queue_length{queue="hints"}'), PATIENCE).toBe(count)

  it('is a number and a spread, at once for whoever knows none or another', async () => {
    const revision = await change()
    const hint = { revision, spread_seconds: 0.00125 }

    const first = await ask(null)
    expect([first.statusCode, first.json()]).toEqual([200, hint])
    expect(first.headers['cache-control']).toBe('no-store')
    expect((await ask(revision - 1)).json()).toEqual(hint)
    expect((await ask(999_999_999_999_999)).json()).toEqual(hint)
  })

  it('comes when the organization changes, and not for a change of another one', async () => {
    const rival = await openOwner(test, 'rival', 'rita')
    const revision = await change()
    const theirs = await enrolTestDevice(test, rival.as, 'rival')
    const waiting = ask(revision)
    const foreign = ask(await revisionOf('rival'), theirs)
    await untilWaiting(2)

    await change('rival', rival.as)
    expect((await foreign).json()).toEqual({
      revision: await revisionOf('rival'),
      spread_seconds: 0.00125,
    })
    await untilWaiting(1)
    const next = await change()

    expect((await waiting).json()).toEqual({ revision: next, spread_seconds: 0.00125 })
  })

  it('comes for what nobody has announced', async () => {
    const revision = await change()
    const waiting = ask(revision)
    await untilWaiting(1)

    await test.store.transaction((writer) => writer.organizations.updateEntitled('acme', true))

    expect((await waiting).json()).toMatchObject({ revision: revision + 1 })
  })

  it('tells what is known when nothing has changed for as long as the server waits', async () => {
    await open({ PALISADE_HINT_SECONDS: '1' })
    const revision = await change()

    const answer = await ask(revision)

    expect([answer.statusCode, answer.json()]).toEqual([200, { revision, spread_seconds: 0 }])
  })

  it('is waited for once by each device: a later call ends the former', async () => {
    const revision = await change()
    const former = ask(revision)
    await untilWaiting(1)
    const later = ask(revision)

    expect((await former).json()).toEqual({ revision, spread_seconds: 0 })
    await untilWaiting(1)
    await test.server.close()
    expect((await later).json()).toEqual({ revision, spread_seconds: 0.00125 })
  })

  it('does not lose its place to a request that somebody has recorded', async () => {
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

  it('takes no room among the proofs that are remembered', async () => {
    const headers = headersOf(device, 'GET', URL)
    const twice = [
      await test.send('GET', URL, { headers }),
      await test.send('GET', URL, { headers }),
    ]
    expect(twice.map(({ statusCode }) => statusCode)).toEqual([200, 200])
  })

  it('is for nobody but live devices with a proof of this request', async () => {
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
    const url = `/api/v1/orgs/acme/devices/${device.enrolment.device_id}`
    expect((await test.send('DELETE', url, { as: owner.as })).statusCode).toBe(204)
  }

  it('does not reach a device that was revoked while it waited', async () => {
    const other = await enrolTestDevice(test, owner.as, 'acme')
    const revision = await change()
    const [waiting, good] = [ask(revision), ask(revision, other)]
    await untilWaiting(2)
    await revoke()

    const next = await change()

    expect((await waiting).statusCode).toBe(401)
    expect((await good).json()).toMatchObject({ revision: next })
  })

  it('is answered before the token ends that it was asked for with', async () => {
    await open({ PALISADE_DEVICE_TOKEN_MINUTES: '1' })
    const revision = await change()
    test.advance(58_500)

    const answer = await ask(revision)

    expect([answer.statusCode, answer.json()]).toEqual([200, { revision, spread_seconds: 0 }])
  })

  it('is refused to whoever asks for anything else', async () => {
    const number = 'since=9999999999999999'
    for (const query of ['since=-1', 'since=x', 'since=', 'since=1&since=2', number, 'x=1'])
      expect((await test.send('GET', `${URL}?${query}`, { as: device })).statusCode).toBe(400)
  })

  it('has so many places for an organization, and so many in all', async () => {
    await open({ PALISADE_MAX_HINTS: '3', PALISADE_MAX_HINTS_OF_ORG: '2' })
    const rival = await openOwner(test, 'rival', 'rita')
    const enrol = (org: string, as: string) => enrolTestDevice(test, as, org)
    const ours = [device, await enrol('acme', owner.as), await enrol('acme', owner.as)]
    const theirs = [await enrol('rival', rival.as), await enrol('rival', rival.as)]
    const [revision, rivals] = [await change(), await change('rival', rival.as)]
    const waiting = ours.slice(0, 2).map((each) => ask(revision, each))
    await untilWaiting(2)

    const third = await ask(revision, ours[2])
    expect(third.statusCode).toBe(503)
    expect(Number(third.headers['retry-after'])).toBeGreaterThanOrEqual(30)
    expect(Number(third.headers['retry-after'])).toBeLessThan(286)
    waiting.push(ask(rivals, theirs[0]))
    await untilWaiting(3)
    expect((await ask(rivals, theirs[1])).statusCode).toBe(503)
    // What is known at once needs no place.
    await expect.poll(async () => (await ask(null, theirs[1])).statusCode, PATIENCE).toBe(200)

    await test.server.close()
    for (const answer of await Promise.all(waiting)) expect(answer.statusCode).toBe(200)
  })

  it('is spread by what an update takes for each machine that asks', async () => {
    const revision = await change()
    for (let count = 0; count < 4; count += 1)
      await ask(null, await enrolTestDevice(test, owner.as, 'acme'))

    for (const since of [null, revision - 1])
      expect((await ask(since)).json()).toEqual({ revision, spread_seconds: 0.00625 })
  })

  it('is not there where nobody is to be told', async () => {
    await open({ PALISADE_HINT_SECONDS: '0' })
    expect((await ask(null)).statusCode).toBe(404)
  })

  it('counts in no histogram, however long it was waited for', async () => {
    const waiting = ask(await change())
    await untilWaiting(1)
    await change()
    await waiting

    const route = 'method="GET",route="/api/v1/device/hint"'
    expect(await sample(`palisade_http_requests_total{${route},status="200"}`)).toBe(1)
    expect(await sample(`palisade_http_request_seconds_count{${route}}`)).toBeNull()
  })

  it('holds no read of the store while it is waited for', async () => {
    const waiting = ask(await change())
    await untilWaiting(1)
    await expect.poll(() => sample('palisade_store_running{operation="read"}'), PATIENCE).toBe(0)
    await test.server.close()
    await waiting
  })

  describe('over a connection', () => {
    let port: number

    beforeEach(async () => {
      await test.server.app.listen({ host: '127.0.0.1', port: 0 })
      ;({ port } = test.server.app.server.address() as AddressInfo)
    })

    async function send(...requests: readonly string[]): Promise<Socket> {
      const socket = connect({ host: '127.0.0.1', port })
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(requests.join(''))
      return socket
    }
    const format = (as: TestDevice, since: number) => {
      const { authorization, dpop } = headersOf(as, 'GET', URL)
      return `GET ${URL}?since=${since} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nDPoP: ${dpop}\r\n\r\n`
    }

    it('gives its place to others when the machine is gone', async () => {
      const revision = await change()
      const socket = await send(format(device, revision))
      await untilWaiting(1)
      socket.destroy()
      await untilWaiting(0)
    })

    it('does so for all that was asked ahead on one connection', async () => {
      const others = [await enrolTestDevice(test, owner.as, 'acme'), device]
      const revision = await change()
      const socket = await send(...others.map((each) => format(each, revision)))
      await untilWaiting(2)
      socket.destroy()
      await untilWaiting(0)
    })

    it('is taken from a connection that asks on and on', async () => {
      const revision = await change()
      const socket = await send(...Array.from({ length: 20 }, () => format(device, revision)))
      await once(socket, 'close')
      await untilWaiting(0)
    })

    it('ends at once for all who wait when the server stops', async () => {
      const revision = await change()
      const socket = await send(format(device, revision))
      await untilWaiting(1)

      await test.server.close()

      const chunks: string[] = []
      for await (const chunk of socket) chunks.push(String(chunk))
      expect(chunks.join('')).toContain(JSON.stringify({ revision, spread_seconds: 0.00125 }))
    })
  })
})
