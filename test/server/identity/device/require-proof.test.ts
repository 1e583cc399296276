import { createDeviceKey, createProver, thumbprintOf, type Prove } from '@palisade/client'
import Fastify, { type FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as startRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDeviceTokens } from '../../../../server/src/identity/device/device-tokens.ts'
import { createReplayGuard } from '../../../../server/src/identity/device/replay-guard.ts'
import { createProofs } from '../../../../server/src/identity/device/require-proof.ts'

const ORIGIN = 'http://localhost'
const ELSEWHERE = 'http://elsewhere.test'
const ROOM = 3

describe('the room for proofs', () => {
  const tokens = createDeviceTokens({
    key: randomBytes(32),
    lifeSeconds: 60,
    now: () => new Date(),
  })
  let app: ReturnType<typeof Fastify>

  beforeEach(() => {
    const now = () => new Date()
    const replays = createReplayGuard(now, { proofs: ROOM, ofKey: ROOM })
    const enrolments = createReplayGuard(now, { proofs: 10 * ROOM, ofKey: ROOM })
    const proofs = createProofs({ replays, enrolments, tokens, now, publicUrl: ORIGIN })
    app = Fastify()
    app.get('/view', { onRequest: proofs.requireTokenProof }, async () => 'view')
    app.post('/known', async (request: FastifyRequest) => {
      const key = await proofs.keyOf(request)
      key.consume()
      return 'known'
    })
    app.post('/enrol', async (request: FastifyRequest) => {
      const key = await proofs.keyOf(request)
      key.consumeToEnrol('alice')
      return 'enrolled'
    })
    app.post(
      '/unknown',
      async (request: FastifyRequest) => (await proofs.keyOf(request)).thumbprint,
    )
  })

  const newProver = () => createProver(createDeviceKey(), Date.now)
  const post = async (path: string, prove = newProver()) =>
    app.inject({
      method: 'POST',
      url: path,
      headers: { dpop: prove({ method: 'POST', url: ORIGIN + path }) },
    })
  const view = async (prove: Prove, token: string) =>
    app.inject({
      url: '/view',
      headers: {
        authorization: `DPoP ${token}`,
        dpop: prove({ method: 'GET', url: `${ORIGIN}/view`, accessToken: token }),
      },
    })

  it('is not used by strangers with their own keys and tokens', async () => {
    const key = createDeviceKey()
    const prove = createProver(key, Date.now)
    const token = tokens.issue({ id: 'device', thumbprint: thumbprintOf(key) })
    for (let stranger = 0; stranger < 2 * ROOM; stranger += 1) {
      expect((await post('/unknown')).statusCode).toBe(200)
      expect((await view(newProver(), token)).statusCode).toBe(401)
    }

    expect((await view(prove, token)).statusCode).toBe(200)
  })

  it('is used by known keys, which get 503 when it is full', async () => {
    for (let known = 0; known < ROOM; known += 1)
      expect((await post('/known')).statusCode).toBe(200)

    expect((await post('/known')).statusCode).toBe(503)
  })

  it('treats cached and new keys alike', async () => {
    const [own, other] = [createDeviceKey(), createDeviceKey()]
    const prove = createProver(own, Date.now)
    const token = tokens.issue({ id: 'device', thumbprint: thumbprintOf(own) })
    const tokenOfOther = tokens.issue({ id: 'other', thumbprint: thumbprintOf(other) })
    const wanted = { method: 'GET', url: `${ORIGIN}/view`, accessToken: token }
    const [header] = prove(wanted).split('.')
    const [, claims, signature] = createProver(other, Date.now)(wanted).split('.')
    const send = async (dpop: string) =>
      (await app.inject({ url: '/view', headers: { authorization: `DPoP ${token}`, dpop } }))
        .statusCode

    expect((await view(prove, token)).statusCode).toBe(200)

    expect(await send(`${header}.${claims}.${signature}`)).toBe(401)
    expect((await view(prove, tokenOfOther)).statusCode).toBe(401)
    expect((await view(createProver(other, Date.now), tokenOfOther)).statusCode).toBe(200)
    expect((await view(createProver(other, Date.now), token)).statusCode).toBe(401)
    expect((await view(prove, token)).statusCode).toBe(200)
  })

  it('of machines is not used by enrolments, which have their own', async () => {
    for (let made = 0; made < ROOM; made += 1) expect((await post('/enrol')).statusCode).toBe(200)

    expect((await post('/enrol')).statusCode).toBe(429)
    expect((await post('/known')).statusCode).toBe(200)
  })

  it.each(['/known', '/enrol'])('admits a proof once at %s', async (url) => {
    const prove = newProver()
    const proof = prove({ method: 'POST', url: ORIGIN + url })
    const once = () => app.inject({ method: 'POST', url, headers: { dpop: proof } })

    expect((await once()).statusCode).toBe(200)
    expect((await once()).body).toContain('was used before')
  })
})

describe('a proof for a request target with an origin', () => {
  const now = () => new Date()
  const tokens = createDeviceTokens({ key: randomBytes(32), lifeSeconds: 60, now })
  let app: ReturnType<typeof Fastify>

  beforeEach(async () => {
    const proofs = createProofs({
      replays: createReplayGuard(now),
      enrolments: createReplayGuard(now),
      tokens,
      now,
      publicUrl: ORIGIN,
    })
    app = Fastify()
    app.post('/key', async (request: FastifyRequest) => (await proofs.keyOf(request)).thumbprint)
    await app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterEach(() => app.close())

  it.each([
    ['is taken for the name of this server', 200, `${ORIGIN}/key`, ORIGIN],
    ['is taken whatever the target names', 200, `${ELSEWHERE}/key`, ORIGIN],
    ['is not taken for another server', 400, `${ELSEWHERE}/key`, ELSEWHERE],
    [
      'is not taken for another server in other letters',
      400,
      'HTTP://elsewhere.test/key',
      ELSEWHERE,
    ],
  ])('%s', async (_title, status, target, provenOrigin) => {
    const prove = createProver(createDeviceKey(), Date.now)
    const dpop = prove({ method: 'POST', url: `${provenOrigin}/key` })
    const { port } = app.server.address() as AddressInfo

    // Neither `fetch` nor `inject` sends such a target unchanged.
    const asked = startRequest({ port, method: 'POST', path: target, headers: { dpop } }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()

    expect(answer.statusCode).toBe(status)
  })
})
