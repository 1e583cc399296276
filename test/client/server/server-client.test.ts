import { describe, expect, it } from 'vitest'
import { ClientError } from '../../../packages/client/src/client-error.ts'
import type { Pace } from '../../../packages/client/src/server/retry.ts'
import {
  createServerClient,
  type ServerClient,
} from '../../../packages/client/src/server/server-client.ts'
import {
  envelope,
  startLoopbackServer,
  tokenReply,
  type Reply,
  type SeenRequest,
} from '../loopback-server.ts'

const POLICY = {
  id: 'pol_1',
  name: 'web',
  org: 'acme',
  scope: {},
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
}
const SUMMARY = { ...POLICY, type: 'allowlist_v0' }
const RULE = {
  id: 'rule_1',
  name: 'api',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['example.com'],
} as const

interface Setting {
  readonly client: ServerClient
  readonly seen: readonly SeenRequest[]
  readonly calls: () => readonly SeenRequest[]
  readonly clock: { ms: number; readonly sleeps: number[] }
}

/** Runs `work` against a server that grants tokens and answers all other requests with `reply`. */
async function withServer(
  reply: (request: SeenRequest, call: number, tokens: number) => Reply,
  work: (setting: Setting) => Promise<void>,
  options: { readonly expiresIn?: number; readonly timeoutMs?: number } = {},
): Promise<void> {
  let tokens = 0
  let calls = 0
  await using server = await startLoopbackServer((request) => {
    if (request.url === '/v2/auth/token') return tokenReply((tokens += 1), options.expiresIn)
    return reply(request, (calls += 1), tokens)
  })
  const clock = { ms: 1_000_000, sleeps: [] as number[] }
  const pace: Pace = {
    now: () => clock.ms,
    random: () => 0.5,
    sleep: async (ms) => {
      clock.sleeps.push(ms)
    },
  }
  const client = createServerClient({
    server: server.url,
    credentials: { username: 'alice', secret: 'pal_pat_secret' },
    timeoutMs: options.timeoutMs,
    pace,
  })
  const callsOf = (): readonly SeenRequest[] =>
    server.seen.filter((request) => request.url !== '/v2/auth/token')
  await work({ client, seen: server.seen, calls: callsOf, clock })
}

async function failureOf(promise: Promise<unknown>): Promise<ClientError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ClientError)) throw new Error('expected a ClientError', { cause: error })
  return error
}

describe('createServerClient', () => {
  it('exchanges the secret once and sends the access token afterwards', async () => {
    await withServer(
      () => ({ body: POLICY }),
      async ({ client, seen }) => {
        const { policies } = client.organization('acme')
        await Promise.all([policies.get('pol_1'), policies.get('pol_1')])
        await policies.get('pol_1')

        const exchanges = seen.filter((request) => request.url === '/v2/auth/token')
        expect(exchanges).toHaveLength(1)
        expect(JSON.parse(exchanges[0]?.body ?? '')).toEqual({
          username: 'alice',
          password: 'pal_pat_secret',
        })
        const headers = seen.slice(1).map((request) => request.headers.authorization)
        expect(headers).toEqual(['Bearer jwt-1', 'Bearer jwt-1', 'Bearer jwt-1'])
      },
    )
  })

  it('renews the access token before it expires', async () => {
    await withServer(
      () => ({ body: POLICY }),
      async ({ client, calls, clock }) => {
        const { policies } = client.organization('acme')
        await policies.get('pol_1')
        clock.ms += 79_000
        await policies.get('pol_1')
        clock.ms += 2_000
        await policies.get('pol_1')

        expect(calls().map((request) => request.headers.authorization)).toEqual([
          'Bearer jwt-1',
          'Bearer jwt-1',
          'Bearer jwt-2',
        ])
      },
      { expiresIn: 100 },
    )
  })

  it('renews once when an access token is refused, also for a POST', async () => {
    await withServer(
      (_request, _call, tokens) =>
        tokens === 1 ? envelope(401, 'unauthenticated') : { status: 201, body: POLICY },
      async ({ client, calls }) => {
        await client.organization('acme').policies.create({ name: 'web' })

        expect(calls()).toHaveLength(2)
      },
    )
  })

  it('gives up if a new access token is refused too', async () => {
    await withServer(
      () => envelope(401, 'unauthenticated', 'the token is not valid'),
      async ({ client, calls }) => {
        const error = await failureOf(client.organization('acme').policies.get('pol_1'))

        expect(error.code).toBe('ERR_API')
        expect(error.api).toMatchObject({ status: 401, code: 'unauthenticated' })
        expect(calls()).toHaveLength(2)
      },
    )
  })

  it('reports the error envelope with status, code, field and request id', async () => {
    const body = {
      error: {
        code: 'invalid_argument',
        message: '`a*.x` is not a pattern',
        field: 'resources[0]',
        request_id: 'r7',
        added_later: 1,
      },
    }
    await withServer(
      () => ({ status: 400, body }),
      async ({ client }) => {
        const added = client.organization('acme').rules.add('pol_1', {
          name: 'api',
          actions: ['connect:tcp'],
          decision: 'allow',
          resources: ['a*.x'],
        })
        const error = await failureOf(added)

        expect(error.message).toBe('`a*.x` is not a pattern')
        expect(error.api).toMatchObject({
          status: 400,
          code: 'invalid_argument',
          field: 'resources[0]',
          request_id: 'r7',
        })
      },
    )
  })

  it('repeats a GET after 503 with growing pauses, for three attempts in total', async () => {
    await withServer(
      (_request, call) => (call < 3 ? envelope(503, 'internal') : { body: POLICY }),
      async ({ client, calls, clock }) => {
        await client.organization('acme').policies.get('pol_1')

        expect(calls()).toHaveLength(3)
        expect(clock.sleeps).toEqual([100, 200])
      },
    )
  })

  it('follows a short Retry-After, and fails at once for a long one', async () => {
    const reply = (seconds: string) => (): Reply => ({
      ...envelope(429, 'limit_exceeded'),
      headers: { 'retry-after': seconds },
    })
    await withServer(reply('2'), async ({ client, clock }) => {
      await failureOf(client.organization('acme').policies.get('pol_1'))
      expect(clock.sleeps).toEqual([2000, 2000])
    })
    await withServer(reply('60'), async ({ client, clock }) => {
      const error = await failureOf(client.organization('acme').policies.get('pol_1'))
      expect(clock.sleeps).toEqual([])
      expect(error.api?.retryAfterMs).toBe(60_000)
    })
  })

  it('repeats a create with one idempotency key after the connection was cut', async () => {
    await withServer(
      (_request, call) => (call === 1 ? { hangUp: true } : { status: 201, body: RULE }),
      async ({ client, calls }) => {
        const { id: _id, ...body } = RULE
        const added = await client
          .organization('acme')
          .rules.add('pol_1', { ...body, actions: ['connect:tcp'], resources: ['example.com'] })

        expect(added.id).toBe('rule_1')
        const keys = calls().map((request) => request.headers['idempotency-key'])
        expect(keys).toHaveLength(2)
        expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
        expect(keys[1]).toBe(keys[0])
      },
    )
  })

  it.each([
    ['DELETE', (c: ServerClient) => c.organization('acme').policies.delete('pol_1')],
    ['PATCH', (c: ServerClient) => c.organization('acme').policies.update('pol_1', { name: 'x' })],
    ['POST without a key', (c: ServerClient) => c.organization('acme').teams.create('dev')],
  ])('does not repeat %s', async (_name, act) => {
    await withServer(
      () => ({ hangUp: true }),
      async ({ client, calls }) => {
        const error = await failureOf(act(client))

        expect(error.code).toBe('ERR_SERVER_UNREACHABLE')
        expect(calls()).toHaveLength(1)
      },
    )
  })

  it('refuses a redirect, so that no other server gets the token', async () => {
    await using elsewhere = await startLoopbackServer(() => ({ body: POLICY }))
    await withServer(
      () => ({ status: 307, headers: { location: `${elsewhere.url}/v2/steal` } }),
      async ({ client }) => {
        const error = await failureOf(client.organization('acme').policies.get('pol_1'))

        expect(error.code).toBe('ERR_UNEXPECTED_ANSWER')
        expect(elsewhere.seen).toEqual([])
      },
    )
  })

  it.each<[string, Reply]>([
    ['HTML', { body: '<html>' }],
    ['an error without envelope', { status: 500, body: 'oops' }],
    ['a duplicate member', { body: '{"id":"a","id":"b"}' }],
    ['a missing member', { body: { ...POLICY, name: undefined } }],
    ['a wrong type', { body: { ...POLICY, name: 7 } }],
    ['empty', { body: '' }],
    ['larger than the limit', { body: ' '.repeat(9 * 1024 * 1024) }],
  ])('refuses an answer that is %s', async (_name, reply) => {
    await withServer(
      () => reply,
      async ({ client }) => {
        const error = await failureOf(client.organization('acme').policies.get('pol_1'))

        expect(error.code).toBe('ERR_UNEXPECTED_ANSWER')
      },
    )
  })

  it('accepts members that a newer server adds, and drops them', async () => {
    const body = {
      ...POLICY,
      added: 1,
      scope: { added: 2 },
      allowlist_v0: { domain: 'network', rules: [{ ...RULE, added: 3 }] },
    }
    await withServer(
      () => ({ body }),
      async ({ client }) => {
        const policy = await client.organization('acme').policies.get('pol_1')

        expect(policy).toEqual({ ...POLICY, allowlist_v0: { domain: 'network', rules: [RULE] } })
      },
    )
  })

  it('ends an attempt that takes too long', async () => {
    await withServer(
      () => ({ silent: true }),
      async ({ client }) => {
        const error = await failureOf(client.organization('acme').policies.delete('pol_1'))

        expect(error.code).toBe('ERR_SERVER_TIMEOUT')
      },
      { timeoutMs: 100 },
    )
  })

  it('does not repeat a GET after a timeout, because a user is waiting', async () => {
    await withServer(
      () => ({ silent: true }),
      async ({ client, calls }) => {
        const error = await failureOf(client.organization('acme').policies.get('pol_1'))

        expect(error.code).toBe('ERR_SERVER_TIMEOUT')
        expect(calls()).toHaveLength(1)
      },
      { timeoutMs: 1_000 },
    )
  })

  it('lists page by page and stops after the last page', async () => {
    await withServer(
      (request) => {
        const token = new URL(request.url, 'http://x').searchParams.get('page_token')
        const data = [{ ...SUMMARY, id: `pol_${token ?? 'first'}` }]
        return { body: { data, next_page_token: token === null ? 'a b' : null } }
      },
      async ({ client, calls }) => {
        const ids: string[] = []
        for await (const policy of client.organization('acme').policies.list({ pageSize: 1 }))
          ids.push(policy.id)

        expect(ids).toEqual(['pol_first', 'pol_a b'])
        expect(calls().map((request) => request.url)).toEqual([
          '/api/v1/orgs/acme/policies?page_size=1',
          '/api/v1/orgs/acme/policies?page_size=1&page_token=a+b',
        ])
      },
    )
  })

  const created_at = '2026-11-21T08:00:00Z'
  const token = { id: 'k', name: 'k', prefix: 'pal_', created_at, created_by: 'user:a' }
  const exceeds_creator = null
  const expiry = { expires_at: created_at, expired: true, last_used_at: null }
  const webhook = { id: 'w', url: 'https://x.example/', enabled: true, created_at }
  const tries = { attempts: 1, status: 200, error: null }
  const times = { attempted_at: created_at, next_attempt_at: null }
  it.each<[string, object, (client: ServerClient) => Promise<readonly unknown[]>]>([
    [
      'access-tokens',
      { ...token, ...expiry, exceeds_creator, permissions: [] },
      (client) => client.accessTokens.list(),
    ],
    [
      'enrolment-tokens',
      { ...token, ...expiry, labels: [], max_uses: 1, uses: 0 },
      (client) => client.organization('acme').enrolmentTokens.list(),
    ],
    [
      'members',
      { username: 'bob', role: 'editor', teams: [] },
      (client) => client.organization('acme').members.list(),
    ],
    ['teams', { id: 't', name: 'one' }, (client) => client.organization('acme').teams.list()],
    [
      'invitations',
      { org: 'x', username: 'a', role: 'member', invited_by: 'operator', created_at },
      (client) => client.invitations.list(),
    ],
    [
      'organizations',
      { name: 'acme', role: 'owner', permissions: [], entitled: true },
      (client) => client.organizations(),
    ],
    [
      'webhooks',
      { ...webhook, secret_created_at: created_at },
      (client) => client.organization('acme').webhooks.list(),
    ],
    [
      'deliveries',
      { id: 'evt', sequence: 1, state: 'dead', ...tries, ...times },
      (client) => client.organization('acme').webhooks.deliveries('w', { state: 'dead' }),
    ],
  ])('collects every page of %s', async (list, entry, collect) => {
    await withServer(
      (request) => {
        const seen = new URL(request.url, 'http://x').searchParams.get('page_token')
        const next = seen === null ? 'a b' : seen === 'a b' ? 'c' : null
        return { body: { data: [entry, entry], next_page_token: next } }
      },
      async ({ client, calls }) => {
        expect(await collect(client)).toEqual(Array.from({ length: 6 }, () => entry))
        const urls = calls().map(({ url }) => url)
        expect(urls).toHaveLength(3)
        expect(urls[1]).toContain(`${list}?`)
        expect(urls[1]).toContain('page_token=a+b')
        for (const url of urls) expect(url.includes('state=dead')).toBe(list === 'deliveries')
      },
    )
  })

  it('refuses a server that repeats a page token', async () => {
    await withServer(
      () => ({ body: { data: [SUMMARY], next_page_token: 'again' } }),
      async ({ client }) => {
        const listAll = async (): Promise<void> => {
          for await (const policy of client.organization('acme').policies.list()) void policy
        }
        expect((await failureOf(listAll())).code).toBe('ERR_UNEXPECTED_ANSWER')
      },
    )
  })

  it('refuses a server whose list never ends, with distinct page tokens', async () => {
    let page = 0
    const answer = (url: string) =>
      url.endsWith('/v2/auth/token')
        ? tokenReply(1).body
        : { data: [], next_page_token: `page ${(page += 1)}` }
    const client = createServerClient({
      server: 'http://127.0.0.1:9',
      credentials: { username: 'alice', secret: 'pal_pat_secret' },
      fetch: async (url) => Response.json(answer(url)),
    })
    const listAll = async (): Promise<void> => {
      for await (const policy of client.organization('acme').policies.list()) void policy
    }

    expect((await failureOf(listAll())).code).toBe('ERR_UNEXPECTED_ANSWER')
    expect(page).toBeGreaterThan(1_000)
  })

  it.each(['..', '.', '', '\ud800'])('refuses `%s` as an id without a request', async (id) => {
    await withServer(
      () => ({ body: POLICY }),
      async ({ client, seen }) => {
        const { policies } = client.organization('acme')
        expect((await failureOf(policies.delete(id))).code).toBe('ERR_ARGUMENT_INVALID')
        expect((await failureOf(policies.get(id))).code).toBe('ERR_ARGUMENT_INVALID')
        expect(seen).toEqual([])
      },
    )
  })

  it('encodes an id with slashes and percent signs as one path segment', async () => {
    await withServer(
      () => envelope(404, 'not_found'),
      async ({ client, calls }) => {
        await failureOf(client.organization('acme').policies.delete('../%2e%2e/x?y#z'))

        expect(calls()[0]?.url).toBe(
          '/v2/orgs/acme/governance/policies/..%2F%252e%252e%2Fx%3Fy%23z',
        )
      },
    )
  })

  it.each(['ftp://x', 'nonsense', 'http://u:p@h', 'http://h/?q=1', 'http://h/#f', ''])(
    'refuses `%s` as a server',
    (server) => {
      const create = (): unknown =>
        createServerClient({ server, credentials: { username: 'a', secret: 'b' } })

      expect(create).toThrow(expect.objectContaining({ code: 'ERR_SERVER_URL_INVALID' }))
    },
  )

  it('reports a refused connection, and never shows the secret', async () => {
    const gone = await startLoopbackServer(() => ({}))
    await gone[Symbol.asyncDispose]()
    const client = createServerClient({
      server: gone.url,
      credentials: { username: 'alice', secret: 'pal_pat_secret' },
    })

    const error = await failureOf(client.authenticate())

    expect(error.code).toBe('ERR_SERVER_UNREACHABLE')
    expect(error.message).toContain('connection refused')
    expect(`${error.message} ${error.stack}`).not.toContain('pal_pat_secret')
  })

  it('refuses an access token that is not a valid header value', async () => {
    await using server = await startLoopbackServer(() => ({
      body: { access_token: 'a\r\nx: y', token_type: 'Bearer', expires_in: 60, token: 'a' },
    }))
    const client = createServerClient({
      server: server.url,
      credentials: { username: 'alice', secret: 's' },
    })

    expect((await failureOf(client.authenticate())).code).toBe('ERR_UNEXPECTED_ANSWER')
  })

  it('requests members, teams, tokens and devices at the paths of the protocol', async () => {
    const member = { username: 'bob', role: 'editor', teams: [] }
    await withServer(
      (request) => {
        if (request.method === 'DELETE' || request.method === 'PUT') return { status: 204 }
        if (request.method === 'POST') return { body: { ...member, status: 'active' } }
        if (request.method === 'PATCH') return { body: { ...member, organization_tokens: 0 } }
        return { body: { data: [], next_page_token: null } }
      },
      async ({ client, calls }) => {
        const org = client.organization('acme')
        await org.members.list()
        await org.members.create({ username: 'bob', role: 'editor' })
        await org.members.setRole('bob', 'editor')
        await org.members.setRole('bob', 'editor', { organization_tokens: 'revoke' })
        await org.members.remove('bob')
        await org.teams.list()
        await org.teams.addMember('t1', 'bob')
        await org.teams.removeMember('t1', 'bob')
        await org.teams.delete('t1')
        await org.accessTokens.list()
        await org.accessTokens.revoke('k1')
        await client.accessTokens.revoke('k2')
        await client.invitations.list()
        await client.invitations.decline('rival')

        expect(calls().map(({ method, url }) => `${method} ${url}`)).toEqual([
          'GET /api/v1/orgs/acme/members',
          'POST /api/v1/orgs/acme/members',
          'PATCH /api/v1/orgs/acme/members/bob',
          'PATCH /api/v1/orgs/acme/members/bob?organization_tokens=revoke',
          'DELETE /api/v1/orgs/acme/members/bob',
          'GET /api/v1/orgs/acme/teams',
          'PUT /api/v1/orgs/acme/teams/t1/members/bob',
          'DELETE /api/v1/orgs/acme/teams/t1/members/bob',
          'DELETE /api/v1/orgs/acme/teams/t1',
          'GET /api/v1/orgs/acme/access-tokens',
          'DELETE /api/v1/orgs/acme/access-tokens/k1',
          'DELETE /api/v1/user/access-tokens/k2',
          'GET /api/v1/user/invitations',
          'DELETE /api/v1/user/invitations/rival',
        ])
      },
    )
  })
})
