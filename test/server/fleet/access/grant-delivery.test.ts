import { ASSIGNMENT_VERSION_HEADER, type Bundle, type DeviceView } from '@palisade/protocol'
import { connect } from 'node:net'
import { once } from 'node:events'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { enrolTestDevice, headersOf, type TestDevice } from '../../test-device.ts'
import { openViewDevice } from '../../views/view-device.ts'
import type { TestServer } from '../../test-server.ts'
import { openAccessScene, openAccessServer, type AccessScene } from './access-scene.ts'

const HOUR_MS = 3_600_000
const HINT = '/api/v1/device/hint'
const UPDATE = '/api/v1/device/update'
/** Longer than the default, for a busy machine. */
const PATIENCE = { timeout: 300_000, interval: 10 }

describe('a change of grants', () => {
  let shared: TestServer
  let test: TestServer
  let scene: AccessScene

  beforeAll(async () => {
    shared = await openAccessServer()
  })
  beforeEach(() => open(shared))

  async function open(server: TestServer): Promise<void> {
    test = server
    scene = await openAccessScene(server)
  }

  const revoke = async (id: string) => {
    const path = `${scene.paths.requests}/${id}/revoke`
    const answer = await scene.post(path, scene.owner.as, { answer: 'not any more' })
    expect(answer.statusCode, answer.body).toBe(200)
  }

  describe('reaches a poll', () => {
    let path: string
    let etag: string
    let version: number

    beforeEach(async () => {
      const { view } = await openViewDevice(test, scene.device)
      path = `${scene.paths.org}/views/${view}/metadata/timestamp.json`
      version = (await scene.assignment()).version
      etag = String((await poll({})).headers['etag'])
    })

    const poll = (headers: Record<string, string>) => {
      const { authorization } = headersOf(scene.device, 'GET', path)
      return test.send('GET', path, { headers: { authorization, ...headers } })
    }
    const pollAs = async (held: number | string | null) => {
      const own = held === null ? {} : { [ASSIGNMENT_VERSION_HEADER]: String(held) }
      return (await poll({ 'if-none-match': etag, ...own })).statusCode
    }

    it('of a machine that says which assignment it has', async () => {
      expect(await pollAs(version)).toBe(304)

      const id = await scene.ask()
      expect(await pollAs(version)).toBe(304)
      await scene.approve(id)

      expect(await pollAs(version)).toBe(200)
      expect(await pollAs(null)).toBe(304)
      const next = (await scene.assignment()).version
      expect(await pollAs(next)).toBe(304)
      await revoke(id)
      expect(await pollAs(next)).toBe(200)
      expect(await pollAs('x')).toBe(400)
    })

    it('before Fastify as well, without a read of the store', async () => {
      await test.server.app.listen({ host: '127.0.0.1', port: 0 })
      const port = Number(new URL(test.server.origin()).port)
      const overSocket = async (held: number) => {
        const { authorization } = headersOf(scene.device, 'GET', path)
        const socket = connect(port, '127.0.0.1')
        const received: Buffer[] = []
        socket.on('data', (chunk: Buffer) => received.push(chunk))
        const lines = [
          `GET ${path} HTTP/1.1`,
          'host: a',
          'connection: close',
          `authorization: ${authorization}`,
          `if-none-match: ${etag}`,
          `${ASSIGNMENT_VERSION_HEADER}: ${held}`,
        ]
        socket.write(`${lines.join('\r\n')}\r\n\r\n`)
        await once(socket, 'close')
        return Number(/^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(received).toString())?.[1])
      }
      await scene.approve(await scene.ask())
      // The first one after the commit fills the caches.
      expect(await pollAs(version)).toBe(200)

      expect(await overSocket(version)).toBe(200)
      expect(await overSocket((await scene.assignment()).version)).toBe(304)
    })

    it('by an update that is not modified only with the newest assignment', async () => {
      const update = async (held: number) => {
        const { view } = await scene.assignment()
        const url = `${UPDATE}?root=1&view=${view}`
        const headers = headersOf(scene.device, 'GET', url)
        const answer = await test.send('GET', url, {
          headers: {
            ...headers,
            'if-none-match': etag,
            [ASSIGNMENT_VERSION_HEADER]: String(held),
          },
        })
        return answer
      }
      expect((await update(version)).statusCode).toBe(304)
      const id = await scene.ask()
      await scene.approve(id)

      const answer = await update(version)

      expect(answer.statusCode).toBe(200)
      const { signed } = JSON.parse(answer.json<Bundle>().assignment) as DeviceView
      expect(signed.grants).toMatchObject([{ id }])
      expect((await update(signed.version)).statusCode).toBe(304)
    })
  })

  describe('reaches a waiting machine', () => {
    const ask = (since: number, assignment: number | null, as: TestDevice = scene.device) => {
      const more = assignment === null ? '' : `&assignment=${assignment}`
      return test.send('GET', `${HINT}?since=${since}${more}`, { as })
    }
    const revision = async () =>
      (await test.store.read((reader) => reader.organizations.find(scene.org)))?.revision ?? -1
    const waiting = async (count: number) =>
      expect
        .poll(async () => {
          const { body } = await test.send('GET', '/metrics')
          return /palisade_queue_length\{queue="hints"\} (\d+)/.exec(body)?.[1]
        }, PATIENCE)
        .toBe(String(count))

    it('of its user, with the revision as it is, and no other machine', async () => {
      await open(await openAccessServer(onTestFinished))
      const others = await enrolTestDevice(test, scene.owner.as, scene.org, {
        user: scene.names.alice,
      })
      const { version } = await scene.assignment()
      const theirs = await scene.assignment(others)
      const since = await revision()
      const id = await scene.ask()
      const hint = ask(since, version)
      const foreign = ask(since, theirs.version, others)
      const plain = ask(
        since,
        null,
        await enrolTestDevice(test, scene.bob, scene.org, { user: scene.names.bob }),
      )
      await waiting(3)

      await scene.approve(id)

      const answer = (await hint).json<{ assignment: number }>()
      expect(answer).toEqual({ revision: since, spread_seconds: 0, assignment: expect.any(Number) })
      expect(answer.assignment).toBe((await scene.assignment()).version)
      await waiting(2)
      await test.server.close()
      for (const each of [foreign, plain])
        expect((await each).json()).not.toHaveProperty('assignment')
    })

    it('at once when it asks with an earlier assignment', async () => {
      const { version } = await scene.assignment()
      const id = await scene.ask()
      await scene.approve(id)
      const since = await revision()

      const first = (await ask(since, version)).json<{ assignment: number }>()
      await revoke(id)
      const second = (await ask(since, first.assignment)).json<{ assignment: number }>()

      expect(first.assignment).toBeGreaterThan(version)
      expect(second.assignment).toBeGreaterThan(first.assignment)
    })

    it('also through a commit that was not announced', async () => {
      const { version } = await scene.assignment()
      const id = await scene.ask()
      const hint = ask(await revision(), version)
      await waiting(1)

      await test.store.transaction(async ({ accessRequests }) => {
        const request = await accessRequests.find(scene.org, id)
        if (request === null) throw new Error('no request')
        const timeIn = (ms: number) => new Date(test.now() + ms).toISOString()
        const grant = {
          resources: request.resources,
          not_before: timeIn(0),
          expires_at: timeIn(HOUR_MS),
        }
        await accessRequests.update({ ...request, state: 'approved', grant }, 'pending')
      })

      expect((await hint).json()).toHaveProperty('assignment')
    })
  })

  it('never pairs a later version with former grants, whoever was admitted before', async () => {
    const id = await scene.ask()
    await scene.approve(id)
    const granted = await scene.assignment()
    // Admitted from memory of before the commit, and answered after it.
    const [former] = await Promise.all([scene.assignment(), revoke(id)])
    const later = await scene.assignment()

    for (const { version, grants } of [granted, former, later])
      expect(grants === undefined).toBe(version > granted.version)
  })
})
