import { createDeviceKey, createProver } from '@palisade/client'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { askForHint } from '../../../../agent/src/sync/hint/ask-for-hint.ts'
import {
  createHintListener,
  type HintListener,
} from '../../../../agent/src/sync/hint/hint-listener.ts'
import { createDeviceAccess } from '../../../../agent/src/sync/transport/device-access.ts'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { createFileFetcher } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { DEVICE_TOKEN, startPolicyServer, type PolicyServer } from '../../fixture/policy-server.ts'

const REFUSAL = '{"error":{"code":"unauthenticated","message":"the token is over"}}'
const PATIENCE = { timeout: 300_000, interval: 10 }
const MINUTE_MS = 60_000

const sendText = (response: ServerResponse, text: string, status = 200, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
const format = (revision: number, spread_seconds = 0): string =>
  JSON.stringify({ revision, spread_seconds })

/** The listener of the agent on real connections; only its rests take no time. */
describe('a server with false hints', () => {
  let server: PolicyServer
  let listener: HintListener
  let polls: number[]
  let restedMs: number
  let answered: number
  let timeoutMs: number

  beforeEach(async () => {
    server = await startPolicyServer()
    ;[polls, restedMs, answered, timeoutMs] = [[], 0, 0, 60_000]
    const wire = {
      fetch: createHttpFetch(),
      server: server.url,
      prove: createProver(createDeviceKey(), () => NOW_MS),
      timeoutMs: 60_000,
    }
    const access = createDeviceAccess({ ...wire, clock: () => NOW_MS, random: () => 0.5 })
    const fetchFile = createFileFetcher({ ...wire, access })
    listener = createHintListener({
      ask: (question, signal) => askForHint(fetchFile, timeoutMs, question, signal),
      assignment: () => 0,
      async poll() {
        polls.push(restedMs)
        return { outcome: 'unchanged' }
      },
      async rest(ms) {
        restedMs += ms
      },
      holdBack: () => {},
      clock: () => NOW_MS,
      uptime: () => restedMs,
      random: () => 0.5,
    })
    onTestFinished(() => listener.stop())
  })

  /** Gives that many answers, then waits until the listener has seen the last one. */
  async function lie(count: number, make: (response: ServerResponse, n: number) => void) {
    server.answer = (_request, response) => {
      answered += 1
      if (answered <= count) make(response, answered)
    }
    listener.start()
    await expect.poll(() => answered, PATIENCE).toBeGreaterThan(count)
  }

  it('is asked with the token, a proof of the path, and the known number', async () => {
    await lie(1, (response) => sendText(response, format(412)))

    const [first, second] = server.requests
    expect([first?.url, second?.url]).toEqual([
      '/api/v1/device/hint',
      '/api/v1/device/hint?since=412',
    ])
    for (const request of [first, second]) {
      expect(request?.headers.authorization).toBe(`DPoP ${DEVICE_TOKEN}`)
      const [, claims = ''] = String(request?.headers['dpop']).split('.')
      expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
        htm: 'GET',
        htu: `${server.url}/api/v1/device/hint`,
      })
    }
    expect(polls).toHaveLength(1)
  })

  it.each<[string, (n: number) => number]>([
    ['old', (n) => 1_000 - n],
    ['huge', (n) => Number.MAX_SAFE_INTEGER - n],
    ['alternating', (n) => n % 2],
  ])(
    'causes at most one poll a second, and soon one in half a minute: %s numbers',
    async (_, make) => {
      await lie(40, (response, n) => sendText(response, format(make(n))))

      const gaps = polls.slice(1).map((at, index) => at - (polls[index] ?? 0))
      expect(polls).toHaveLength(40)
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000)
      expect(Math.min(...gaps.slice(20))).toBeGreaterThanOrEqual(30_000)
    },
  )

  it('causes no poll by the same number, and is soon asked twice a minute', async () => {
    await lie(40, (response) => sendText(response, format(7)))

    expect(polls).toHaveLength(1)
    expect(restedMs).toBeGreaterThan(15 * MINUTE_MS)
  })

  it('delays a hint by at most 2.5 times the longest spread plus the time of polls', async () => {
    await lie(20, (response, n) => sendText(response, format(n, 300)))

    const gaps = polls.slice(1).map((at, index) => at - (polls[index] ?? 0))
    expect(polls).toHaveLength(20)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(13.5 * MINUTE_MS)
  })

  const cases: readonly [string, string, (response: ServerResponse) => void][] = [
    ['a number of more than 53 bits', 'malformed', (r) => sendText(r, format(2 ** 53))],
    ['a negative number', 'malformed', (r) => sendText(r, format(-1))],
    ['a fractional revision', 'malformed', (r) => sendText(r, format(1.5))],
    ['a spread longer than a poll interval', 'malformed', (r) => sendText(r, format(1, 301))],
    ['a negative spread', 'malformed', (r) => sendText(r, format(1, -1))],
    ['an endless spread', 'malformed', (r) => sendText(r, '{"revision":1,"spread_seconds":1e999}')],
    [
      'a hint with another member',
      'malformed',
      (r) => sendText(r, `${format(1).slice(0, -1)},"policies":[]}`),
    ],
    [
      'a repeated member',
      'malformed',
      (r) => sendText(r, `${format(1).slice(0, -1)},"revision":2}`),
    ],
    ['a list', 'malformed', (r) => sendText(r, '[]')],
    ['no JSON', 'foreign_answer', (r) => sendText(r, '<html>')],
    ['an empty answer', 'empty', (r) => sendText(r, '')],
    [
      'an answer that is too long',
      'too_large',
      (r) => sendText(r, `${format(1)}${' '.repeat(300)}`),
    ],
    ['HTML', 'foreign_answer', (r) => sendText(r, format(1), 200, { 'content-type': 'text/html' })],
    ['a redirect', 'redirected', (r) => sendText(r, '', 307, { location: '/elsewhere' })],
    ['a 304', 'not_modified_without_bundle', (r) => void r.writeHead(304).end()],
    ['a 500', 'http_status', (r) => sendText(r, '{}', 500)],
    ['a refusal of the token', 'unauthorized', (r) => sendText(r, REFUSAL, 401)],
    ['a refusal by another server', 'foreign_answer', (r) => sendText(r, '{}', 401)],
    ['a cut connection', 'unreachable', (r) => void r.destroy()],
    [
      'half a body',
      'truncated',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json', 'content-length': 40 })
        r.write('{"revision"', () => r.destroy())
      },
    ],
    [
      'a body that comes byte by byte',
      'timeout',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json' })
        const timer = setInterval(() => r.write(' '), 20)
        r.on('close', () => clearInterval(timer))
      },
    ],
    [
      'a body that never ends',
      'timeout',
      (r) => void r.writeHead(200, { 'content-type': 'application/json' }).write(format(1)),
    ],
    ['no answer', 'timeout', () => {}],
  ]

  it.each(cases)(
    'causes no poll by %s (%s), and is asked less and less often',
    async (_, code, make) => {
      const count = code === 'timeout' ? 2 : 12
      if (code === 'timeout') timeoutMs = 500

      await lie(count, make)

      expect(polls).toEqual([])
      expect(listener.status()).toMatchObject({ is_on: true, last_error: { code } })
      // Half of 5, 10, 20, … seconds, at most 300.
      expect(restedMs).toBeGreaterThanOrEqual(count === 2 ? 7_500 : 17 * MINUTE_MS)
      // The token stays in use for polls, whatever this endpoint answers.
      expect(server.tokenRequests).toHaveLength(1)
    },
  )

  it('is left alone for an hour when it does not know the route', async () => {
    await lie(3, (response) => sendText(response, '{}', 404))
    expect(restedMs).toBeGreaterThanOrEqual(180 * MINUTE_MS)
    expect(polls).toEqual([])
  })
})
