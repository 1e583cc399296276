import type { Permission } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'
import { formatDeliveryId } from '../../../server/src/webhooks/delivery-id.ts'
import { freshName } from '../fresh-name.ts'
import { openOwner } from '../owner.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { openReceiver, verify } from './receiver.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const HOOK = 'https://hooks.example.com/palisade'
const SETTINGS = { PALISADE_WEBHOOK_NETWORKS: '127.0.0.1' }

describe('webhooks', () => {
  /** Never listens, so it delivers nothing. */
  let shared: TestServer
  let test: TestServer
  let org: string
  let alice: string
  let acme: string
  let webhooks: string
  let owner: string
  /** The time of the server. */
  let now: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    shared = await openTestServer(atEnd, { settings: SETTINGS })
  })
  beforeEach(() => open(shared))

  async function open(server: TestServer): Promise<void> {
    test = server
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    acme = `/api/v1/orgs/${org}`
    webhooks = `${acme}/webhooks`
    owner = (await openOwner(test, org, alice)).as
    now = new Date(test.now()).toISOString()
  }
  const openOwn = async () => open(await openTestServer(onTestFinished, { settings: SETTINGS }))

  const create = async (url = HOOK) =>
    (await test.send('POST', webhooks, { as: owner, payload: { url } })).json()
  const kinds = async () => {
    const { data } = (await test.send('GET', `${acme}/events`, { as: owner })).json()
    return data.map(({ kind }: { kind: string }) => kind).slice(4)
  }
  async function deliveryOf(sequence: number): Promise<string> {
    const page = { after: sequence - 1, through: sequence, limit: 1 }
    const [event] = await test.store.read((reader) => reader.events.list(org, page))
    if (event === undefined) throw new Error(`there is no event ${sequence}`)
    return formatDeliveryId(event)
  }
  async function tokenWith(permissions: Permission[]): Promise<string> {
    const payload = { name: permissions.join(), permissions, expires_in_days: 1 }
    const url = `${acme}/access-tokens`
    const { token } = (await test.send('POST', url, { as: owner, payload })).json()
    return test.signIn(org, token)
  }

  it('are created, shown, changed and deleted, with the secret shown once', async () => {
    const made = await test.send('POST', webhooks, { as: owner, payload: { url: HOOK } })
    const { secret, ...webhook } = made.json()
    const one = `${webhooks}/${webhook.id}`

    expect(made.statusCode).toBe(201)
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(webhook).toEqual({
      id: expect.any(String),
      url: HOOK,
      enabled: true,
      created_at: now,
      secret_created_at: now,
    })
    expect((await test.send('GET', one, { as: owner })).json()).toEqual(webhook)
    expect((await test.send('GET', webhooks, { as: owner })).json()).toEqual({
      data: [webhook],
      next_page_token: null,
    })
    const changed = await test.send('PATCH', one, { as: owner, payload: { enabled: false } })
    expect(changed.json()).toEqual({ ...webhook, enabled: false })
    await test.send('PATCH', one, { as: owner, payload: { enabled: false } })
    expect((await test.send('DELETE', one, { as: owner })).statusCode).toBe(204)
    expect((await test.send('GET', one, { as: owner })).statusCode).toBe(404)
    expect(await kinds()).toEqual(['webhook.created', 'webhook.updated', 'webhook.deleted'])
    const events = await test.send('GET', `${acme}/events`, { as: owner })
    expect(events.body).not.toContain('whsec_')
  })

  it('get a new secret, shown once', async () => {
    const { secret, ...webhook } = await create()
    test.advance(1000)

    const rotated = await test.send('POST', `${webhooks}/${webhook.id}/rotate-secret`, {
      as: owner,
    })

    expect(rotated.json()).toEqual({
      ...webhook,
      secret: expect.stringMatching(/^whsec_/),
      secret_created_at: new Date(test.now()).toISOString(),
    })
    expect(rotated.json().secret).not.toBe(secret)
    expect(await kinds()).toEqual(['webhook.created', 'webhook.secret_rotated'])
  })

  it('have an event for each new secret, even for two within a millisecond', async () => {
    const { id } = await create()
    const rotate = () => test.send('POST', `${webhooks}/${id}/rotate-secret`, { as: owner })

    const [first, second] = [await rotate(), await rotate()]

    expect(first.json().secret).not.toBe(second.json().secret)
    expect(await kinds()).toEqual([
      'webhook.created',
      'webhook.secret_rotated',
      'webhook.secret_rotated',
    ])
  })

  it('deliver changes to a receiver that verifies the signature', async () => {
    await openOwn()
    const receiver = await openReceiver()
    const { secret, id } = await create(receiver.url)
    await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    await receiver.count(1)

    await test.send('POST', `/v2/orgs/${org}/governance/policies`, {
      as: owner,
      payload: { name: 'web' },
    })
    await receiver.count(2)

    const events = receiver.received.map((request) => verify(request, secret, new Date(now)))
    expect(events).toMatchObject([
      { kind: 'webhook.created', subject: { id } },
      { kind: 'policy.created', subject: { name: 'web' }, actor: `user:${alice}` },
    ])
    const { data } = (await test.send('GET', `${acme}/events`, { as: owner })).json()
    expect(events).toEqual(data.slice(4))
  })

  it('redeliver on request, including events from before their creation', async () => {
    await openOwn()
    const receiver = await openReceiver()
    const { id } = await create(receiver.url)
    const redeliver = (delivery: string) =>
      test.send('POST', `${webhooks}/${id}/deliveries/${delivery}/redeliver`, { as: owner })

    const [first, last] = [await deliveryOf(1), await deliveryOf(5)]
    const asked = await redeliver(first)
    expect(asked.json()).toMatchObject({ id: first, state: 'pending', attempts: 0 })
    const foreign = `evt_1_${'0'.repeat(32)}`
    for (const delivery of [last, last.replace('_5_', '_99_'), foreign, 'x'])
      expect((await redeliver(delivery)).statusCode, delivery).toBe(404)
    const list = async (query = '') =>
      (await test.send('GET', `${webhooks}/${id}/deliveries${query}`, { as: owner })).json().data
    expect(await list('?state=pending')).toMatchObject([{ id: first, sequence: 1 }])
    expect(await list('?state=dead')).toEqual([])

    await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    await receiver.count(2)

    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([first, last])
  })

  it('redeliver at once, not at the next interval', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await openOwn()
    const receiver = await openReceiver()
    const { id } = await create(receiver.url)
    await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    await receiver.count(1)
    const delivery = await deliveryOf(5)
    const settled = async () => {
      const list = await test.send('GET', `${webhooks}/${id}/deliveries`, { as: owner })
      return list.json().data[0]?.state === 'delivered'
    }
    while (!(await settled())) await nextTurn()

    const url = `${webhooks}/${id}/deliveries/${delivery}/redeliver`
    expect((await test.send('POST', url, { as: owner })).statusCode).toBe(200)
    await receiver.count(2)

    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([
      delivery,
      delivery,
    ])
  })

  it('accept at most a hundred pending redeliveries', async () => {
    const { id } = await create()
    const audit = (index: number) =>
      test.send('POST', `${acme}/teams`, { as: owner, payload: { name: `${index}` } })
    for (let index = 0; index < 101; index += 1) await audit(index)
    await test.store.transaction(async (writer) => {
      const lease = { owner: 'test', now: now, until: now }
      await writer.deliveries.claim(id, lease)
      const delivered = { webhook_id: id, sequence: 105, state: 'delivered' as const, attempts: 1 }
      const rest = { status: 204, error: null, attempted_at: now, next_attempt_at: null }
      const position = { delivered_sequence: 105, attempts: 0, next_attempt_at: now }
      await writer.deliveries.settle('test', { ...delivered, ...rest }, position)
    })
    const redeliver = async (sequence: number) =>
      test.send('POST', `${webhooks}/${id}/deliveries/${await deliveryOf(sequence)}/redeliver`, {
        as: owner,
      })

    for (let sequence = 1; sequence <= 100; sequence += 1)
      expect((await redeliver(sequence)).statusCode).toBe(200)

    const refused = await redeliver(101)
    expect(refused.statusCode).toBe(403)
    expect(refused.json().error.code).toBe('limit_exceeded')
  })

  it('are limited to twenty', async () => {
    for (let index = 0; index < 20; index += 1)
      expect(await create(`${HOOK}/${index}`)).toHaveProperty('id')

    const one = await test.send('POST', webhooks, { as: owner, payload: { url: HOOK } })

    expect(one.statusCode).toBe(403)
    expect(one.json().error.code).toBe('limit_exceeded')
  })

  it.each([
    'http://hooks.example.com/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'http://[::1]:80/',
    'javascript:alert(1)',
    `https://example.com/${'x'.repeat(2048)}`,
  ])('refuse the URL %s, new or changed', async (url) => {
    const { id } = await create()

    for (const response of [
      await test.send('POST', webhooks, { as: owner, payload: { url } }),
      await test.send('PATCH', `${webhooks}/${id}`, { as: owner, payload: { url } }),
    ]) {
      expect(response.statusCode).toBe(400)
      expect(response.json().error).toMatchObject({ code: 'invalid_argument', field: 'url' })
    }
  })

  it.each([{}, { url: HOOK, secret: 'mine' }, { enabled: 'yes' }, { enabled: null }])(
    'refuse the change %j',
    async (payload) => {
      const { id } = await create()

      const response = await test.send('PATCH', `${webhooks}/${id}`, { as: owner, payload })

      expect(response.statusCode).toBe(400)
    },
  )

  it('are for administrators, and need permission to read the history', async () => {
    const { id } = await create()
    const one = `${webhooks}/${id}`
    const status = async (method: 'GET' | 'POST' | 'PATCH', url: string, as: string) =>
      (
        await test.send(method, url, {
          as,
          payload: method === 'GET' ? undefined : { url: HOOK },
        } as never)
      ).statusCode

    const admin = await tokenWith(['organization:admin'])
    expect(await status('GET', webhooks, admin)).toBe(200)
    expect(await status('POST', webhooks, admin)).toBe(403)
    expect(await status('PATCH', one, admin)).toBe(403)
    const first = await deliveryOf(1)
    expect(await status('POST', `${one}/deliveries/${first}/redeliver`, admin)).toBe(403)
    expect(await status('POST', `${one}/rotate-secret`, admin)).toBe(403)
    const auditor = await tokenWith(['audit:read', 'policies:write'])
    expect(await status('GET', webhooks, auditor)).toBe(403)
    expect(await status('POST', webhooks, auditor)).toBe(403)
    const both = await tokenWith(['audit:read', 'organization:admin'])
    expect(await status('POST', webhooks, both)).toBe(201)
    expect(await status('PATCH', one, both)).toBe(200)
  })

  it('are 401 for a stranger and 404 for another organization', async () => {
    const { id } = await create()
    const rival = freshName('rival')
    const { as: rita } = await openOwner(test, rival, freshName('rita'))

    expect((await test.send('GET', `${webhooks}/${id}`)).statusCode).toBe(401)
    for (const url of [`${webhooks}/${id}`, `/api/v1/orgs/${rival}/webhooks/${id}`])
      for (const method of ['GET', 'DELETE'] as const)
        expect((await test.send(method, url, { as: rita })).statusCode).toBe(404)
    expect((await test.send('GET', `${webhooks}/${id}`, { as: owner })).statusCode).toBe(200)
  })

  it('list deliveries of one webhook page by page, even while new ones arrive', async () => {
    const [one, other] = [await create(), await create(`${HOOK}/other`)]
    const put = (sequences: readonly number[], webhook_id = one.id) =>
      test.store.transaction(async ({ deliveries }) => {
        for (const sequence of sequences)
          await deliveries.put({
            webhook_id,
            sequence,
            state: sequence % 2 === 0 ? 'dead' : 'delivered',
            attempts: 1,
            status: 200,
            error: null,
            attempted_at: now,
            next_attempt_at: null,
          })
      })
    await put([1, 2, 3, 4, 5])
    await put([1, 2], other.id)
    const send = (query: string, { id } = one) =>
      test.send('GET', `${webhooks}/${id}/deliveries${query}`, { as: owner })
    const page = async (query: string) => {
      const { data, next_page_token: next } = (await send(query)).json()
      return { sequences: data.map(({ sequence }: { sequence: number }) => sequence), next }
    }

    const first = await page('?page_size=2')
    // A newer one precedes the first page.
    await put([6])
    const second = await page(`?page_size=2&page_token=${first.next}`)
    const third = await page(`?page_size=2&page_token=${second.next}`)
    const dead = await page('?state=dead&page_size=2')
    const rest = await page(`?state=dead&page_size=2&page_token=${dead.next}`)

    expect([first, second, third].map(({ sequences }) => sequences)).toEqual([[5, 4], [3, 2], [1]])
    expect(third.next).toBeNull()
    expect([dead.sequences, rest.sequences]).toEqual([[6, 4], [2]])
    expect((await send(`?page_token=${first.next}`, other)).statusCode).toBe(400)
    for (const query of ['?page_token=AAAA', '?page_size=-1', '?page_size=1e9', '?state=lost'])
      expect((await send(query)).statusCode, query).toBe(400)
  })
})
