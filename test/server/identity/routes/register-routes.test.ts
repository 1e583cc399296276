import { PERMISSIONS } from '@palisade/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Principal } from '../../../../server/src/identity/principal.ts'
import { registerRoutes } from '../../../../server/src/identity/routes/register-routes.ts'
import { defineRoute, type Route } from '../../../../server/src/identity/routes/route.ts'
import { ApiError, conflict, notFound } from '../../../../server/src/platform/api-error.ts'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'

const USER: Principal = {
  kind: 'user',
  username: 'olga',
  tokenId: null,
  rootTokenId: null,
  permissions: PERMISSIONS,
}
const ORGANIZATION: Principal = {
  kind: 'organization',
  org: 'acme',
  tokenId: 't',
  rootTokenId: 't',
  permissions: PERMISSIONS,
}
const about = { operationId: 'test', tags: ['test'], summary: 'A route of this test' }
const thing = z.strictObject({ name: z.string() })

const ROUTES: readonly Route[] = [
  defineRoute(
    { ...about, method: 'POST', path: '/created', callers: 'anyone', answers: { 201: thing } },
    async () => ({ name: 'made' }),
  ),
  defineRoute(
    { ...about, method: 'DELETE', path: '/gone', callers: 'anyone', answers: { 204: z.null() } },
    async () => undefined,
  ),
  defineRoute(
    {
      ...about,
      method: 'GET',
      path: '/sent',
      callers: 'anyone',
      answers: { 200: thing, 304: z.null() },
    },
    async ({ send }) => send({ status: 304, headers: { etag: '"1"' } }),
  ),
  defineRoute(
    { ...about, method: 'POST', path: '/refused', callers: 'anyone', answers: { 201: thing } },
    async () => {
      throw conflict('no room')
    },
  ),
  defineRoute(
    { ...about, method: 'GET', path: '/nameless', callers: 'anyone', answers: { 200: thing } },
    async ({ caller }) => ({ name: caller.author.actor }),
  ),
  defineRoute(
    { ...about, method: 'GET', path: '/person', callers: 'people', answers: { 200: thing } },
    async ({ caller }) => ({ name: caller.author.actor }),
  ),
  defineRoute(
    { ...about, method: 'GET', path: '/signed-in', callers: 'signed_in', answers: { 200: thing } },
    async ({ caller }) => ({ name: caller.author.actor }),
  ),
  defineRoute(
    {
      ...about,
      method: 'POST',
      path: '/orgs/:org/things/:thing',
      permission: 'organization:admin',
      lookUp(_reader, { thing: name }) {
        if (name === 'unknown') throw notFound('thing not found')
      },
      body: thing,
      answers: { 200: thing },
    },
    async ({ params, body }) => ({ name: `${params.org}/${params.thing}/${body.name}` }),
  ),
  defineRoute(
    {
      ...about,
      method: 'GET',
      path: '/machine',
      callers: 'machines',
      credential: 'device_token',
      async prove({ headers }) {
        if (headers.authorization !== 'DPoP good')
          throw new ApiError(401, 'unauthenticated', 'no proof')
      },
      query: null,
      answers: { 200: thing },
    },
    async () => ({ name: 'machine' }),
  ),
]

describe('a declared endpoint', () => {
  let governed: GovernedApp

  beforeAll(async () => {
    governed = await openGovernedApp({
      routes: [
        async (app) =>
          registerRoutes(
            app,
            {
              async authenticate(header) {
                if (header === 'Bearer user') return USER
                if (header === 'Bearer organization') return ORGANIZATION
                throw new ApiError(401, 'unauthenticated', 'no token')
              },
              store: { read: (work) => governed.store.read(work) },
            },
            ROUTES,
          ),
      ],
    })
  })
  afterAll(() => governed.close())

  async function ask(
    method: 'DELETE' | 'GET' | 'POST',
    url: string,
    as?: string,
    payload?: object,
  ) {
    const headers = as === undefined ? {} : { authorization: as }
    const { statusCode, body } = await governed.app.inject({
      method,
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    return [statusCode, body === '' ? '' : (JSON.parse(body) as unknown)]
  }

  it('sends the returned body with the status of success', async () => {
    expect(await ask('POST', '/created')).toEqual([201, { name: 'made' }])
    expect(await ask('DELETE', '/gone')).toEqual([204, ''])
  })

  it('sends an answer with its own status', async () => {
    expect(await ask('GET', '/sent')).toEqual([304, ''])
  })

  it('refuses with the status of the error', async () => {
    const [status, body] = await ask('POST', '/refused')

    expect(status).toBe(409)
    expect(body).toMatchObject({ error: { code: 'conflict' } })
  })

  it('answers 500 if a handler reads the caller of a route without one', async () => {
    expect(await ask('GET', '/nameless')).toMatchObject([500, {}])
  })

  it('admits only the declared callers', async () => {
    const statusOf = async (url: string, as?: string) => (await ask('GET', url, as))[0]

    expect(await ask('GET', '/person', 'Bearer user')).toEqual([200, { name: 'user:olga' }])
    expect(await statusOf('/person', 'Bearer organization')).toBe(403)
    expect(await statusOf('/person')).toBe(401)
    expect(await statusOf('/signed-in', 'Bearer organization')).toBe(200)
    expect(await statusOf('/signed-in')).toBe(401)
    expect(await statusOf('/machine', 'DPoP good')).toBe(200)
    expect(await statusOf('/machine', 'Bearer user')).toBe(401)
  })

  it('looks up before it validates the body', async () => {
    const post = (path: string, payload: object, as = 'Bearer user') =>
      ask('POST', `/orgs/${path}`, as, payload)

    expect(await post('acme/things/1', { name: 'a' })).toEqual([200, { name: 'acme/1/a' }])
    expect(await post('nowhere/things/1', { wrong: 1 })).toMatchObject([404, {}])
    expect(await post('acme/things/unknown', { wrong: 1 })).toMatchObject([404, {}])
    expect(await post('acme/things/1', { wrong: 1 })).toMatchObject([400, {}])
  })

  it('accepts query parameters only if it declares or ignores them', async () => {
    expect(await ask('GET', '/signed-in?a=1', 'Bearer user')).toMatchObject([400, {}])
    expect(await ask('GET', '/machine?a=1', 'DPoP good')).toMatchObject([200, {}])
  })
})
