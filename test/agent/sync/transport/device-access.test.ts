import { createDeviceKey, createProver, thumbprintOf } from '@palisade/client'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import {
  createDeviceAccess,
  type DeviceAccess,
} from '../../../../agent/src/sync/transport/device-access.ts'
import { verifyProof } from '../../../../server/src/identity/device/verify-proof.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { refuseKey, startPolicyServer, type PolicyServer } from '../../fixture/policy-server.ts'
import { never } from '../../fixture/sync-scene.ts'

const MINUTE_MS = 60_000

describe('the device token of a machine', () => {
  const key = createDeviceKey()
  let server: PolicyServer
  let access: DeviceAccess
  let nowMs: number
  let given: number
  let timeoutMs: number

  beforeEach(async () => {
    timeoutMs = 60_000
    server = await startPolicyServer()
    nowMs = NOW_MS
    given = 0
    server.answerToken = (_request, response) => give(response, `t${(given += 1)}`)
    const clock = () => nowMs
    access = createDeviceAccess({
      fetch: createHttpFetch(),
      server: server.url,
      prove: createProver(key, clock),
      get timeoutMs() {
        return timeoutMs
      },
      clock,
      random: () => 0.5,
    })
  })

  function give(response: ServerResponse, access_token: string, change: object = {}): void {
    const body = { access_token, token_type: 'DPoP', expires_in: 3600, ...change }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  function refuseWith(status: number): void {
    server.answerToken = (_request, response) => response.writeHead(status).end('{}')
  }

  async function ask(): Promise<string> {
    const answer = await access.token(never)
    return answer.kind === 'token' ? answer.token : answer.code
  }

  it('is requested once, with a proof that the server accepts', async () => {
    expect([await ask(), await ask()]).toEqual(['t1', 't1'])

    const [request] = server.tokenRequests
    const wanted = { method: 'POST', path: '/api/v1/device/token', origins: [server.url] }
    const proof = verifyProof(String(request?.headers['dpop']), wanted, new Date(nowMs))
    expect(proof).toMatchObject({ thumbprint: thumbprintOf(key) })
    expect(server.tokenRequests).toHaveLength(1)
  })

  it('is renewed at 80 % of its life', async () => {
    await ask()
    nowMs += 48 * MINUTE_MS - 1
    expect(await ask()).toBe('t1')

    nowMs += 1

    expect([await ask(), await ask()]).toEqual(['t2', 't2'])
  })

  it('serves until it expires, while the server is retried with growing pauses', async () => {
    await ask()
    refuseWith(503)
    nowMs += 48 * MINUTE_MS
    const attempts = async () => {
      const before = server.tokenRequests.length
      expect(await ask()).toBe('t1')
      return server.tokenRequests.length - before
    }

    expect([await attempts(), await attempts()]).toEqual([1, 0])
    // Half of the bounds of 5, 10 and 20 seconds.
    for (const pauseMs of [2_500, 5_000, 10_000]) {
      nowMs += pauseMs - 1
      expect(await attempts()).toBe(0)
      nowMs += 1
      expect(await attempts()).toBe(1)
    }
    nowMs += 12 * MINUTE_MS
    expect(await ask()).toBe('busy')
  })

  it('is requested again after the delay of a busy server plus a random one', async () => {
    await ask()
    server.answerToken = (_request, response) =>
      response.writeHead(503, { 'retry-after': '60' }).end('{}')
    nowMs += 48 * MINUTE_MS
    expect(await ask()).toBe('t1')
    expect(server.tokenRequests).toHaveLength(2)

    nowMs += MINUTE_MS + 2_499
    expect(await ask()).toBe('t1')
    expect(server.tokenRequests).toHaveLength(2)
    nowMs += 1
    expect(await ask()).toBe('t1')
    expect(server.tokenRequests).toHaveLength(3)

    nowMs += 60 * MINUTE_MS
    expect(await access.token(never)).toMatchObject({ code: 'busy', retryAfterMs: 60_000 })
  })

  it('is dropped at once when the server no longer knows the machine', async () => {
    await ask()
    server.answerToken = refuseKey
    nowMs += 48 * MINUTE_MS

    expect([await ask(), await ask()]).toEqual(['revoked', 'revoked'])
  })

  it('stays in use while a third party refuses in place of the server', async () => {
    await ask()
    refuseWith(401)
    nowMs += 48 * MINUTE_MS

    expect(await ask()).toBe('t1')
    nowMs += 12 * MINUTE_MS
    expect(await ask()).toBe('foreign_answer')
  })

  it('is not offered again after the server has refused it', async () => {
    access.reject('another')
    expect(await ask()).toBe('t1')

    access.reject('t1')

    expect(await ask()).toBe('t2')
  })

  it.each<[string, string, (response: ServerResponse) => unknown]>([
    ['proof_refused', '400', (response) => response.writeHead(400).end('{}')],
    ['redirected', 'a redirect', (response) => response.writeHead(302, { location: '/x' }).end()],
    ['foreign_answer', 'HTML', (response) => response.writeHead(200).end('<html>')],
    ['foreign_answer', 'an empty body', (response) => response.writeHead(200).end()],
    [
      'foreign_answer',
      'a bearer token',
      (response) => give(response, 'x', { token_type: 'Bearer' }),
    ],
    ['foreign_answer', 'a header in the token', (response) => give(response, 'x\r\ny: z')],
    ['foreign_answer', 'a life of zero', (response) => give(response, 'x', { expires_in: 0 })],
    [
      'foreign_answer',
      'a token that is too long',
      (response) => give(response, 'x'.repeat(100_000)),
    ],
    ['unreachable', 'a closed connection', (response) => response.destroy()],
    ['timeout', 'silence', () => undefined],
  ])('fails with %s when the server answers with %s', async (code, _title, answer) => {
    server.answerToken = (_request, response) => void answer(response)
    if (code === 'timeout') timeoutMs = 500

    expect(await ask()).toBe(code)
  })
})
