import type { HistoryEvent, ListEventsResponse } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { hashEvent } from '../../../server/src/history/event-hash.ts'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const HOUR_MS = 60 * 60 * 1000

describe('the feed of events', () => {
  let test: TestServer
  let org: string
  let alice: string
  let acme: string
  let events: string
  let owned: Owner
  let owner: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    acme = `/api/v1/orgs/${org}`
    events = `${acme}/events`
    owned = await openOwner(test, org, alice)
    owner = owned.as
  })

  async function feed(query = '', as = owner): Promise<ListEventsResponse> {
    const response = await test.send('GET', `${events}${query}`, { as })
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }
  const kinds = (list: readonly HistoryEvent[]) => list.map(({ kind }) => kind)
  const createPolicy = (name: string) =>
    test.send('POST', `/v2/orgs/${org}/governance/policies`, { as: owner, payload: { name } })
  it('shows the actor, change, address and request of an event', async () => {
    const created = await createPolicy('web')

    const { data } = await feed('?kind=policy.created')

    expect(data).toEqual([
      expect.objectContaining({
        org,
        at: new Date(test.now()).toISOString(),
        actor: `user:${alice}`,
        address: '127.0.0.1',
        request_id: created.headers['x-request-id'],
        subject: { id: created.json().id, name: 'web' },
        before: null,
        after: created.json(),
      }),
    ])
  })

  it('begins with the creation of the organization by the operator', async () => {
    const { data } = await feed()

    expect(kinds(data)).toEqual([
      'organization.created',
      'user.created',
      'member.added',
      'access_token.created',
    ])
    expect(data[0]).toMatchObject({ sequence: 1, actor: 'operator', address: null })
  })

  it('is sufficient to verify the hash chain', async () => {
    await createPolicy('web')

    const { data } = await feed()

    for (const [index, { hash, ...event }] of data.entries()) {
      expect(hashEvent(event)).toBe(hash)
      expect(event.previous_hash).toBe(data[index - 1]?.hash ?? '0'.repeat(64))
    }
  })

  it('contains no secret', async () => {
    const { personal_token, password } = await test.createOrganization(
      freshName('other'),
      freshName('bob'),
    )
    await test.send('POST', `${acme}/members`, {
      as: owner,
      payload: { username: freshName('carol'), role: 'editor', password: 'a secret of carol' },
    })
    const made = await test.send('POST', `${acme}/access-tokens`, {
      as: owner,
      payload: { name: 'ci', permissions: [], expires_in_days: 1 },
    })
    const device = await enrolTestDevice(test, owner, org)

    const text = JSON.stringify(await feed())

    expect(text).toContain('device.enrolled')
    expect(text).not.toMatch(/pal_(?:pat|oat|enr|dat)_|argon2|hash"?:"?[0-9a-f]{64}.{0,20}secret/)
    for (const secret of [
      personal_token,
      password ?? '',
      'a secret of carol',
      made.json().token,
      device.token,
    ])
      expect(text).not.toContain(secret)
  })

  it('continues after a cursor, also with later events', async () => {
    const first = await feed('?page_size=3')
    expect(first).toMatchObject({ has_more: true })
    expect(first.data.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    const second = await feed(`?cursor=${first.next_cursor}`)
    expect(second).toMatchObject({ has_more: false, data: [{ sequence: 4 }] })
    const nothing = await feed(`?cursor=${second.next_cursor}`)
    expect(nothing).toMatchObject({ has_more: false, data: [] })

    await createPolicy('web')

    const later = await feed(`?cursor=${nothing.next_cursor}`)
    expect(later.data.map(({ sequence }) => sequence)).toEqual([5])
  })

  it('filters by kind, actor and time', async () => {
    const startMs = Math.floor(test.now() / 1000) * 1000
    const timeAfter = (ms: number) => new Date(startMs + ms).toISOString()
    test.advance(1000)
    await createPolicy('one')
    test.advance(1000)
    await createPolicy('two')

    const names = async (query: string) =>
      (await feed(query)).data.map(({ subject }) => subject.name)
    expect(await names('?kind=policy.created')).toEqual(['one', 'two'])
    expect(await names(`?actor=user:${alice}`)).toEqual(['one', 'two'])
    expect(await names('?actor=user:bob')).toEqual([])
    expect(await names(`?since=${timeAfter(2000)}`)).toEqual(['two'])
    const since = timeAfter(1000 + HOUR_MS).replace('Z', '%2B01:00')
    expect(await names(`?since=${since}&until=${timeAfter(2000)}`)).toEqual(['one'])
  })

  it('skips many filtered events in steps, and reports that there are more', async () => {
    const audited = createAuditedStore({ store: test.store, now: () => new Date(0) })
    await audited.write(OPERATOR, async (writer) => {
      for (let index = 0; index < 10_100; index += 1)
        await writer.teams.insert({ id: `${org} ${index}`, org, name: `team ${index}` })
    })
    await createPolicy('needle')

    const first = await feed('?kind=policy.created')
    expect(first).toMatchObject({ data: [], has_more: true })
    const second = await feed(`?kind=policy.created&cursor=${first.next_cursor}`)
    expect(second).toMatchObject({ data: [{ subject: { name: 'needle' } }], has_more: false })
  })

  it('ends a page early when its events are large, without omitting any', async () => {
    const rules = Array.from({ length: 80 }, (_, index) => ({
      id: `rule_${index}`,
      name: `rule ${index}`,
      actions: ['connect:tcp' as const],
      decision: 'allow' as const,
      resources: [`${'a'.repeat(4000)}.example`],
    }))
    const audited = createAuditedStore({ store: test.store, now: () => new Date(0) })
    for (let index = 0; index < 5; index += 1) {
      const id = `pol_${index}`
      const stamp = '2026-11-21T08:00:00Z'
      await audited.write(OPERATOR, async (writer) => {
        const head = { id, org, name: id, teams: [] }
        await writer.policies.insert({ ...head, created_at: stamp, updated_at: stamp })
        const at = { org, policyId: id, updated_at: stamp }
        await writer.policies.replaceRules(at, rules)
        await writer.policies.delete(org, id)
      })
    }

    const found: string[] = []
    let page = await feed('?kind=policy.deleted')
    expect(page.has_more).toBe(true)
    expect(JSON.stringify(page).length).toBeLessThan(1.1 * 1024 * 1024)
    for (;;) {
      found.push(...page.data.map(({ subject }) => subject.id))
      if (!page.has_more) break
      page = await feed(`?kind=policy.deleted&cursor=${page.next_cursor}`)
    }
    expect(found).toEqual(['pol_0', 'pol_1', 'pol_2', 'pol_3', 'pol_4'])
  })

  it.each([
    'operator',
    'server',
    'user:b.o+b@example.com',
    'organization:acme:3f1c8a52-4f0e-4d8c-9a50-3a2a7f6b1c11',
    'enrolment:acme:3f1c8a52-4f0e-4d8c-9a50-3a2a7f6b1c11',
    'rollout:acme:rol_01JDTB7C3QK8M4',
    'issuer:https://id.example.com/realms/one',
    'issuer:HTTPS:/id.example.com',
  ])('accepts the actor %s, also without events', async (actor) => {
    expect(await feed(`?actor=${encodeURIComponent(actor)}`)).toMatchObject({
      data: actor === 'operator' ? [{}, {}, {}, {}] : [],
    })
  })

  it.each([
    'alice',
    'Operator',
    'user:',
    'user:Alice',
    'user:alice:1',
    'users:alice',
    'organization:acme',
    'organization::x',
    'enrolment:acme:',
    'rollout:acme:a b',
    'issuer:',
    'server ',
  ])('refuses the impossible actor `%s`, and describes the format', async (actor) => {
    const query = `?actor=${encodeURIComponent(actor)}`

    const response = await test.send('GET', `${events}${query}`, { as: owner })

    expect([response.statusCode, response.json().error]).toMatchObject([
      400,
      {
        code: 'invalid_argument',
        field: 'actor',
        message: expect.stringContaining(
          '`actor` must be `user:NAME`, `organization:NAME:TOKEN_ID`',
        ),
      },
    ])
  })

  it.each([
    ['auditor', 200],
    ['editor', 403],
    ['member', 403],
  ] as const)('answers a member with the role %s with %i', async (role, status) => {
    const as = await owned.addMember(freshName(role), role, 'correct horse battery')

    expect((await test.send('GET', events, { as })).statusCode).toBe(status)
  })

  it('needs a token with `audit:read`', async () => {
    const tokenWith = async (permissions: string[]) => {
      const payload = { name: permissions.join(), permissions, expires_in_days: 1 }
      const url = `${acme}/access-tokens`
      const { token } = (await test.send('POST', url, { as: owner, payload })).json()
      return test.signIn(org, token)
    }

    const may = await tokenWith(['audit:read'])
    const mayNot = await tokenWith(['policies:read', 'policies:write', 'organization:admin'])

    expect((await test.send('GET', events, { as: may })).statusCode).toBe(200)
    expect((await test.send('GET', events, { as: mayNot })).statusCode).toBe(403)
  })

  it('answers 401 for no caller and 404 for another organization before other faults', async () => {
    const { as: rita } = await openOwner(test, freshName('rival'), freshName('rita'))

    expect((await test.send('GET', `${events}?x=1`)).statusCode).toBe(401)
    const foreign = await test.send('GET', `${events}?x=1`, { as: rita })
    const absent = await test.send('GET', '/api/v1/orgs/absent/events?x=1', { as: rita })
    expect(foreign.statusCode).toBe(404)
    expect(foreign.json().error.message).toBe(absent.json().error.message)
  })

  it('refuses a cursor of another organization', async () => {
    const rival = freshName('rival')
    const { as: rita } = await openOwner(test, rival, freshName('rita'))
    const { next_cursor } = await feed('?page_size=1')

    const url = `/api/v1/orgs/${rival}/events?cursor=${next_cursor}`
    expect((await test.send('GET', url, { as: rita })).statusCode).toBe(400)
  })

  it.each([
    ['page_size=-1', 'page_size'],
    ['cursor=MQ', 'cursor'],
    ['cursor=', 'cursor'],
    ['kind=policy.invented', 'kind'],
    ['since=yesterday', 'since'],
    ['until=2026-11-21', 'until'],
    ['page_token=x', 'page_token'],
    ['kind=rule.created&kind=rule.created', 'kind'],
  ])('refuses `%s` naming `%s`', async (query, field) => {
    const response = await test.send('GET', `${events}?${query}`, { as: owner })

    expect(response.statusCode).toBe(400)
    expect(response.json().error).toMatchObject({ code: 'invalid_argument', field })
  })
})
