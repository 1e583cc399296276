import { createDeviceKey } from '@palisade/client'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createTrustedClock } from '../../../../agent/src/policy/state/trusted-clock.ts'
import { fetchAsDevice, type FetchFile } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { refuseKey, startPolicyServer } from '../../fixture/policy-server.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * A machine whose server has the right time and accepts proofs that are off by five minutes at
 * most.
 */
async function setUp() {
  const server = await startPolicyServer()
  const clocks = { wallMs: NOW_MS, trueMs: NOW_MS }
  const isInTime = (request: IncomingMessage): boolean =>
    Math.abs(issueOf(request) - clocks.trueMs) <= 5 * MINUTE_MS
  const giveToken = server.answerToken
  server.answerToken = (request, response) =>
    isInTime(request) ? giveToken(request, response) : response.writeHead(400).end('{}')
  server.answer = (request, response) =>
    isInTime(request)
      ? response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      : refuseKey(request, response)
  const wall = (): number => clocks.wallMs
  const trusted = createTrustedClock({ wall, uptime: () => clocks.trueMs - NOW_MS })
  const fetchFile = fetchAsDevice({
    enrolment: { server: server.url },
    key: createDeviceKey(),
    fetch: createHttpFetch(),
    now: trusted.now,
    clock: wall,
    random: () => 0.5,
  })
  /** Advances the time, on a clock that is wrong by `wrongMs`. */
  const pass = (ms: number, wrongMs: number): void => {
    clocks.trueMs += ms
    clocks.wallMs = clocks.trueMs + wrongMs
  }
  return { server, pass, ask: () => ask(fetchFile) }
}

async function ask(fetchFile: FetchFile): Promise<string> {
  const fetched = await fetchFile({ path: '/x', maxBytes: 100 }, new AbortController().signal)
  return fetched.kind === 'fault' ? fetched.code : fetched.kind
}

function issueOf({ headers }: IncomingMessage): number {
  const [, claims = ''] = String(headers['dpop']).split('.')
  const { iat } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iat: number }
  return iat * 1000
}

describe('the proofs of a machine', () => {
  it.each([10 * MINUTE_MS, 12 * HOUR_MS, 5 * 365 * 24 * HOUR_MS])(
    'are accepted again once a clock that was %d ms ahead is corrected',
    async (aheadMs) => {
      const { ask, pass } = await setUp()
      expect(await ask()).toBe('body')
      pass(MINUTE_MS, aheadMs)
      expect(await ask()).toBe('proof_refused')

      pass(MINUTE_MS, 0)
      expect(await ask()).toBe('body')
      pass(2 * HOUR_MS, 0)
      expect(await ask()).toBe('body')
    },
  )

  it('are accepted at the first attempt while the clock is set back', async () => {
    const { ask, pass, server } = await setUp()
    expect(await ask()).toBe('body')
    pass(2 * HOUR_MS, -24 * HOUR_MS)
    const before = server.tokenRequests.length
    expect(await ask()).toBe('body')
    expect(server.tokenRequests.length - before).toBeLessThanOrEqual(1)
  })
})
