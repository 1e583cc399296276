import { createDeviceKey, createProver } from '@palisade/client'
import type { AccessRequest, GrantStatus } from '@palisade/protocol'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { createAccessRequests } from '../../../../agent/src/grants/access/request-access.ts'
import { createDeviceAccess } from '../../../../agent/src/sync/transport/device-access.ts'
import { createFileFetcher } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { grant, idOf } from '../../fixture/access-grant.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { startPolicyServer } from '../../fixture/policy-server.ts'

const BODY = {
  action: 'connect:tcp',
  resources: ['api.test:443'],
  duration_seconds: 3600,
  reason: 'release',
}

function answered(overrides: Partial<AccessRequest> = {}): AccessRequest {
  return {
    id: idOf('a'),
    username: 'alice',
    device_id: 'dev_1',
    state: 'pending',
    action: 'connect:tcp',
    resources: ['api.test:443'],
    duration_seconds: 3600,
    once: false,
    reason: 'release',
    created_at: '2026-11-21T12:00:00.000Z',
    decided_at: null,
    decided_by: null,
    answer: null,
    grant: null,
    ...overrides,
  }
}

async function start(user: string | null = 'alice', states: readonly GrantStatus[] = []) {
  const server = await startPolicyServer()
  const bodies: string[] = []
  const reply = { status: 201, body: answered() as unknown }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    bodies.push(await text(request))
    const sent = request.method === 'GET' && reply.status === 201 ? 200 : reply.status
    response.writeHead(sent, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply.body))
  }
  server.answer = (request, response) => void answer(request, response)
  const clock = (): number => NOW_MS
  const prove = createProver(createDeviceKey(), clock)
  const wire = { fetch: createHttpFetch(), server: server.url, prove, timeoutMs: 60_000 }
  const access = createDeviceAccess({ ...wire, clock, random: () => 0.5 })
  const time = { ms: 0 }
  const requests = createAccessRequests({
    fetchFile: createFileFetcher({ ...wire, access }),
    enrolment: { user },
    grants: { list: () => states },
    uptime: () => time.ms,
  })
  return { requests, server, bodies, reply, time }
}

describe('an access request', () => {
  it('reaches the server with the proof of the device', async () => {
    const { requests, server, bodies } = await start()

    const result = await requests.ask(BODY)

    expect(result).toEqual({ outcome: 'requested', request: answered(), error: null })
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      url: '/api/v1/device/access-requests',
      headers: { dpop: expect.any(String), authorization: expect.stringMatching(/^DPoP /) },
    })
    expect(JSON.parse(bodies[0] ?? '')).toEqual(BODY)
  })

  it.each([
    [{ ...BODY, reason: '  ' }, /`reason`: must say why/],
    [{ ...BODY, duration_seconds: 1 }, /`duration_seconds`/],
    [{ ...BODY, action: 'approve' }, /`action`/],
    [{ ...BODY, username: 'root' }, /username/],
    [null, /./],
  ])('that is invalid is refused here: %j', async (body, message) => {
    const { requests, server } = await start()

    const { error } = await requests.ask(body)

    expect(error).toMatchObject({ code: 'invalid_argument' })
    expect(error?.message).toMatch(message)
    expect(server.requests).toEqual([])
  })

  it('of a device without a user is refused here', async () => {
    const { requests, server } = await start(null)

    expect(await requests.ask(BODY)).toMatchObject({
      outcome: 'failed',
      error: { code: 'no_user' },
    })
    expect(server.requests).toEqual([])
  })

  it('gets the words of the server, and a sentence where it has none', async () => {
    const { requests, reply } = await start()
    const messages: string[] = []
    for (const [status, body] of [
      [403, { error: { code: 'limit_exceeded', message: 'too many open requests' } }],
      [404, '<html>'],
      [500, {}],
    ] as const) {
      Object.assign(reply, { status, body })
      const { outcome, error } = await requests.ask(BODY)
      expect(outcome).toBe('failed')
      messages.push(`${error?.code}: ${error?.message}`)
    }

    expect(messages).toEqual([
      'limit_exceeded: too many open requests',
      'http_status: the server does not know access requests; its operator has to update it',
      'http_status: the server answered 500',
    ])
  })

  it('is one of ten in a row, then one a minute', async () => {
    const { requests, time, server } = await start()
    const ask = async () => (await requests.ask(BODY)).error?.code ?? 'requested'
    const codes: string[] = []
    for (let count = 0; count < 13; count += 1) codes.push(await ask())

    expect(codes.filter((code) => code === 'requested').length).toBeLessThanOrEqual(11)
    expect(codes.at(-1)).toBe('limit_exceeded')
    const sent = server.requests.length
    time.ms += 2 * 60_000
    expect(await ask()).toBe('requested')
    expect(server.requests).toHaveLength(sent + 1)
  })

  it('from a sandbox has a limit of its own, and its own list', async () => {
    const { requests, reply } = await start()
    const [one, other] = [requests.forSandbox(), requests.forSandbox()]
    const codes: string[] = []
    for (let count = 0; count < 8; count += 1)
      codes.push((await one.ask(BODY)).error?.code ?? 'requested')
    expect(codes.at(-1)).toBe('limit_exceeded')
    expect(await requests.ask(BODY)).toMatchObject({ outcome: 'requested' })

    reply.body = { data: [answered(), answered({ id: idOf('b') })], next_page_token: null }

    expect((await one.list()).requests).toMatchObject([{ id: idOf('a') }])
    expect((await other.list()).requests).toEqual([])
    expect((await requests.list()).requests).toHaveLength(2)
  })
})

describe('the list of access requests', () => {
  it('has the grants of this machine, and asks at most every three seconds', async () => {
    const status: GrantStatus = { ...grant(), state: 'in_force' }
    const { requests, server, reply, time } = await start('alice', [status])
    reply.body = { data: [answered()], next_page_token: null }

    const [first] = await Promise.all([requests.list(), requests.list(), requests.list()])

    expect(first).toEqual({ requests: [answered()], grants: [status], error: null })
    expect(server.requests).toHaveLength(1)
    time.ms += 3_000
    await requests.list()
    expect(server.requests).toHaveLength(2)
  })

  it('says why the server did not answer, and shows the grants all the same', async () => {
    const status: GrantStatus = { ...grant(), state: 'spent' }
    const { requests, reply } = await start('alice', [status])
    reply.status = 500

    expect(await requests.list()).toMatchObject({
      requests: [],
      grants: [status],
      error: { code: 'http_status' },
    })
  })
})
