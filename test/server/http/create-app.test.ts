import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorEnvelopeSchema } from '@palisade/protocol'
import { ApiError } from '../../../server/src/platform/api-error.ts'
import { openGovernedApp, type GovernedApp } from './governed-app.ts'

const URL = '/v2/orgs/acme/governance/policies'
let governed: GovernedApp
let logged = ''

beforeAll(async () => {
  const log = new Writable({
    write(chunk, _encoding, done) {
      logged += String(chunk)
      done()
    },
  })
  governed = await openGovernedApp({
    log,
    routes: [
      async (app) => {
        app.get('/broken', async () => {
          throw new Error('the secret of the inside')
        })
        app.get('/crowded', async () => {
          throw new ApiError(503, 'internal', 'too many come at once; try again later')
        })
      },
    ],
  })
})
afterAll(() => governed.close())

describe('unknown paths and methods', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/v2'],
    ['POST', '/v2/orgs/acme/governance'],
    ['GET', `${URL}/`],
    ['DELETE', `${URL}/x/y`],
    ['GET', '/v2/orgs//governance/policies'],
    ['GET', '/docs/static/nothing'],
  ] as const)('%s %s is 404 without authentication', async (method, url) => {
    const response = await governed.send({ as: null, method, url })
    expect(response.statusCode).toBe(404)
    expect(errorEnvelopeSchema.parse(response.json()).error.code).toBe('not_found')
  })

  it.each(['%', '%zz', '%c3%28', '%E0%A4%A'])('%s in a path is 404', async (text) => {
    const response = await governed.send({ url: `/v2/orgs/${text}/governance/policies` })
    expect(response.statusCode).toBe(404)
    expect(response.json().error.code).toBe('not_found')
    expect(response.headers['x-request-id']).toBe(response.json().error.request_id)
  })

  it.each([
    ['PUT', URL, 'GET, HEAD, OPTIONS, POST'],
    ['DELETE', URL, 'GET, HEAD, OPTIONS, POST'],
    ['POST', `${URL}/x`, 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['GET', `${URL}/x/rules`, 'OPTIONS, POST'],
    ['GET', `${URL}/x/rules/y`, 'DELETE, OPTIONS, PATCH'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
    ['PUT', '/v2/orgs/a%2Fb/governance/policies', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/api/v1/orgs/acme/check', 'OPTIONS, POST'],
  ] as const)('%s %s is 405 with Allow', async (method, url, allow) => {
    const response = await governed.send({ as: null, method, url })
    expect(response.statusCode).toBe(405)
    expect(response.headers.allow).toBe(allow)
    expect(errorEnvelopeSchema.parse(response.json()).error.code).toBe('invalid_argument')
  })

  it('OPTIONS lists the methods of a known path', async () => {
    const known = await governed.send({ as: null, method: 'OPTIONS', url: URL })
    const unknown = await governed.send({ as: null, method: 'OPTIONS', url: '/nowhere' })

    expect(known.statusCode).toBe(204)
    expect(known.headers.allow).toBe('GET, HEAD, OPTIONS, POST')
    expect(unknown.statusCode).toBe(404)
  })

  it('HEAD is GET without the body', async () => {
    const head = await governed.send({ method: 'HEAD', url: URL })
    const get = await governed.send({ url: URL })
    const stranger = await governed.send({ as: null, method: 'HEAD', url: URL })

    expect(head.statusCode).toBe(200)
    expect(head.body).toBe('')
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
    expect(stranger.statusCode).toBe(401)
  })
})

describe('every answer', () => {
  it('carries the constant headers', async () => {
    for (const url of ['/healthz', '/nowhere', URL, '/%', '/broken']) {
      const { headers } = await governed.send({ as: null, url })
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-request-id': expect.stringMatching(/^req_[0-9a-f]{24}$/),
      })
    }
  })

  it('adopts only a harmless request id', async () => {
    const idFor = async (id: string) =>
      (await governed.send({ url: '/healthz', headers: { 'x-request-id': id } })).headers[
        'x-request-id'
      ]

    expect(await idFor('trace-1.A_b')).toBe('trace-1.A_b')
    for (const id of ['', 'a b', 'x'.repeat(65), '"><script>', 'a,b', 'pal_org_0123456789abcdef'])
      expect(await idFor(id)).toMatch(/^req_/)
  })

  it('reveals no internal detail of a server error', async () => {
    const response = await governed.send({ url: '/broken' })

    expect(response.statusCode).toBe(500)
    expect(response.json().error).toEqual({
      code: 'internal',
      message: 'internal server error',
      request_id: response.headers['x-request-id'],
    })
    expect(logged).toContain('the secret of the inside')
  })

  it('is a line of the request alone in the log where a limit of the server refuses', async () => {
    const before = logged.length
    expect((await governed.send({ url: '/crowded' })).statusCode).toBe(503)

    const lines = logged.slice(before).trim().split('\n')
    expect(lines).toEqual([expect.stringContaining('"status":503')])
    expect(lines[0]).not.toContain('stack')
  })

  it('names the scheme when it is 401', async () => {
    for (const authorization of ['', 'Basic YTpi', 'Bearer', 'Bearer x', 'Bearer a b']) {
      const response = await governed.app.inject({ url: URL, headers: { authorization } })
      expect(response.statusCode).toBe(401)
      expect(response.headers['www-authenticate']).toBe('Bearer')
      expect(response.json().error.code).toBe('unauthenticated')
    }
  })
})

describe('health', () => {
  it('is ready while the store answers, and 503 otherwise', async () => {
    const own = await openGovernedApp()
    const ready = await own.send({ as: null, url: '/readyz' })
    await own.store.close()
    const alive = await own.send({ as: null, url: '/healthz' })
    const unready = await own.send({ as: null, url: '/readyz' })
    await own.app.close()

    expect([ready.statusCode, alive.statusCode, unready.statusCode]).toEqual([200, 200, 503])
    expect(errorEnvelopeSchema.parse(unready.json()).error.code).toBe('internal')
  })
})

describe('the log', () => {
  it('has requests and answers without credentials and bodies', async () => {
    const token = await governed.tokenFor('olga')
    logged = ''
    await governed.app.inject({
      method: 'POST',
      url: `${URL}?page_token=in-the-query`,
      headers: { authorization: `Bearer ${token}`, 'x-request-id': 'followed' },
      payload: { name: 'in-the-body' },
    })

    expect(logged).toContain('"followed"')
    for (const secret of [token, 'in-the-body', 'in-the-query', 'Bearer'])
      expect(logged).not.toContain(secret)
  })
})
