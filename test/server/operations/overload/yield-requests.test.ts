import { once } from 'node:events'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createOverload,
  type Overload,
} from '../../../../server/src/operations/overload/overload.ts'
import { openViewDevice, type ViewDevice } from '../../views/view-device.ts'
import {
  enrolTestDevice,
  newProver,
  sendEnrolment,
  sendTokenRequest,
  type TestDevice,
} from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const LIMIT_MS = 250

describe('requests to an overloaded server', () => {
  const undo: (() => void | Promise<void>)[] = []
  const lines: string[] = []
  let draw = 0
  let overload: Overload
  let server: TestServer
  let owner: string
  let machine: TestDevice
  let view: ViewDevice
  let poll: string

  beforeAll(async () => {
    overload = createOverload({ limitMs: LIMIT_MS, random: () => draw })
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString())
        done()
      },
    })
    server = await openTestServer((step) => undo.push(step), {
      overload,
      log: { level: 'info', stream },
    })
    const { personal_token } = await server.createOrganization('acme', 'alice')
    owner = await server.signIn('alice', personal_token)
    machine = await enrolTestDevice(server, owner, 'acme')
    view = await openViewDevice(server, machine)
    poll = `/api/v1/orgs/acme/views/${view.view}/metadata/timestamp.json`
    await server.server.app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(async () => {
    for (const step of undo.toReversed()) await step()
  })
  beforeEach(() => {
    draw = 0
    for (let n = 0; n < 25; n += 1) overload.note(0)
  })

  function slowDown(seconds: number): void {
    // One slow second alone is not an overload.
    if (overload.delayMs() <= LIMIT_MS) overload.note(LIMIT_MS + 1)
    for (let n = 0; n < seconds; n += 1) overload.note(LIMIT_MS + 1)
  }
  const report = () =>
    server.send('POST', '/api/v1/device/report', {
      as: machine,
      payload: { state: 'fresh', agent_version: '1' },
    })
  const askForView = () => server.send('GET', '/api/v1/device/view', { as: machine })
  const pollAs = (token: string) =>
    server.send('GET', poll, { headers: { authorization: `DPoP ${token}` } })

  it('are all served without overload', async () => {
    expect((await pollAs(machine.token)).statusCode).toBe(200)
    expect((await sendTokenRequest(server, newProver(server))).statusCode).toBe(401)
    expect((await report()).statusCode).toBe(200)
    expect((await askForView()).statusCode).toBe(200)
  })

  it('are told to retry later if they are polls, token requests or reports', async () => {
    slowDown(3)

    const answers = [
      await pollAs(machine.token),
      await sendTokenRequest(server, machine.prove),
      await report(),
    ]

    for (const { statusCode, headers, body } of answers) {
      expect([statusCode, headers['retry-after']]).toEqual([503, '1'])
      expect(JSON.parse(body)).toMatchObject({
        error: { code: 'internal', reason: 'overloaded', request_id: expect.any(String) },
      })
    }
  })

  it('get 503 regardless of the caller, which reveals nothing', async () => {
    slowDown(1)

    expect((await pollAs('pal_dat_none')).statusCode).toBe(503)
    expect((await server.send('GET', poll.replace('acme', 'none'))).statusCode).toBe(503)
  })

  it('are served when the random draw admits them', async () => {
    slowDown(3)
    draw = 0.31

    expect((await pollAs(machine.token)).statusCode).toBe(200)
    expect((await report()).statusCode).toBe(200)
  })

  it('complete an update that a poll began, until the overload is extreme', async () => {
    slowDown(5)
    expect((await askForView()).statusCode).toBe(200)
    expect((await view.get('metadata/1.root.json')).statusCode).toBe(200)

    slowDown(5)

    expect((await askForView()).statusCode).toBe(503)
    expect((await view.get('metadata/1.root.json')).statusCode).toBe(503)
    expect((await view.get('targets/policies/0.none.json')).statusCode).toBe(503)
  })

  it('are served for administrators and probes at any overload', async () => {
    slowDown(100)
    const policies = '/v2/orgs/acme/governance/policies'

    expect((await server.send('GET', '/healthz')).statusCode).toBe(200)
    expect((await server.send('GET', '/readyz')).statusCode).toBe(200)
    expect((await server.send('GET', '/metrics')).statusCode).toBe(200)
    expect((await server.send('GET', policies, { as: owner })).statusCode).toBe(200)
    const payload = { name: 'written meanwhile' }
    expect((await server.send('POST', policies, { as: owner, payload })).statusCode).toBe(201)
    expect((await server.send('GET', '/api/v1/orgs/acme/devices', { as: owner })).statusCode).toBe(
      200,
    )
    expect((await sendEnrolment(server, owner, 'acme')).statusCode).toBe(201)
  })

  it('get the same refusal before Fastify', async () => {
    slowDown(3)
    const socket = connect(Number(new URL(server.server.origin()).port), '127.0.0.1')
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    socket.write(`GET ${poll} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
    await once(socket, 'close')
    const inject = await pollAs(machine.token)

    const [head = '', body = ''] = Buffer.concat(received).toString().split('\r\n\r\n')

    expect(head).toMatch(/^HTTP\/1\.1 503 /)
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
    const expected = Object.keys(inject.headers)
    expect(names.toSorted()).toEqual(expected.toSorted())
    const id = /"request_id":"[^"]+"/
    expect(body.replace(id, '')).toBe(inject.body.replace(id, ''))
  })

  it('are counted when refused, without filling the log', async () => {
    const before = { lines: lines.length, count: overload.turnedAway() }
    slowDown(3)

    await pollAs(machine.token)
    await report()

    const { body } = await server.send('GET', '/metrics')
    expect(body).toContain(`palisade_turned_away_total ${before.count + 2}\n`)
    expect(body).toContain('palisade_overload_delay_seconds 0.251\n')
    expect(body).toMatch(/palisade_overload_share 0\.3\d*\n/)
    expect(lines.slice(before.lines)).toEqual([])
  })
})
