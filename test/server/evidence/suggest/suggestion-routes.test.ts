import type { SuggestionsRequest, SuggestionsResponse } from '@palisade/protocol'
import { gzipSync } from 'node:zlib'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, headersOf } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { HEADER, linesOf, recordOf, textOf } from '../ingest/batch-text.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const RECORDS = '/api/v1/device/records'

describe('suggestions', () => {
  let test: TestServer
  let org: string
  let alice: string
  let suggestions: string
  let people: readonly string[]
  let owner: Owner

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    suggestions = `/api/v1/orgs/${org}/suggestions`
    people = ['ann', 'ben', 'cas'].map(freshName)
    owner = await openOwner(test, org, alice)
    await owner.uploadEverything()
  })

  const api = async (method: 'POST' | 'PUT', path: string, payload?: object) => {
    const url = `/api/v1/orgs/${org}${path}`
    const answer = await test.send(method, url, { as: owner.as, ...(payload ? { payload } : {}) })
    expect(answer.statusCode, answer.body).toBeLessThan(300)
    return answer.body === '' ? null : answer.json()
  }
  const ask = (payload: SuggestionsRequest = {}, as = owner.as) =>
    test.send('POST', suggestions, { as, payload })
  const suggested = async (payload: SuggestionsRequest = {}, as = owner.as) => {
    const answer = await ask(payload, as)
    expect(answer.statusCode, answer.body).toBe(200)
    return answer.json<SuggestionsResponse>()
  }

  /** A team of three people, each with a device that was denied these hosts. */
  const populate = async (hosts: readonly string[], hostsOf = (_user: string) => hosts) => {
    const { id } = await api('POST', '/teams', { name: 'backend' })
    for (const [index, user] of people.entries()) {
      await owner.addMember(user, 'member', `a long password of ${user}`)
      await api('PUT', `/teams/${id}/members/${user}`)
      const device = await enrolTestDevice(test, owner.as, org, { user })
      const records = hostsOf(user).map((host) =>
        recordOf({ request: { action: 'connect:tcp', host, port: 443 }, program: '/usr/bin/git' }),
      )
      const sent = await test.server.app.inject({
        method: 'POST',
        url: RECORDS,
        headers: {
          ...headersOf(device, 'POST', RECORDS),
          'content-type': 'application/x-ndjson',
          'content-encoding': 'gzip',
        },
        payload: gzipSync(textOf({ ...HEADER, boot: `b${index}` }, linesOf(records))),
      })
      expect(sent.statusCode, sent.body).toBe(200)
    }
  }

  it('are a document that can be applied, after which nothing is left to suggest', async () => {
    await populate(['a.example.com', 'b.example.com', 'github.io'])

    const first = await suggested()

    expect(first).toMatchObject({
      revision: expect.any(Number),
      examined: { decisions: 9, devices: 3, targets: 3, left_out: 0 },
      suggestions: [
        {
          policy: 'suggested for backend',
          resource: 'a.example.com:443',
          teams: ['backend'],
          members: 3,
          marks: [],
          evidence: {
            devices: 3,
            users: 3,
            usernames: people,
            programs: [{ program: '/usr/bin/git', decisions: 3 }],
          },
        },
        { resource: 'b.example.com:443' },
      ],
      opens: [{ teams: ['backend'], complete: true }],
      not_covered: [{ reason: 'public_suffix', target: 'github.io:443' }],
    })
    const { policies } = first.document
    expect(await api('POST', '/apply', { policies })).toMatchObject({
      changes: [{ change: 'created', name: 'suggested for backend' }],
    })

    const second = await suggested()

    expect(second.document.policies).toEqual([])
    expect(second.not_covered_totals).toEqual([
      { reason: 'already_allowed', targets: 2, decisions: 6 },
      { reason: 'public_suffix', targets: 1, decisions: 3 },
    ])
  })

  it('leave out expired rules and shadow policies, which allow nothing now', async () => {
    await populate(['a.example.com', 'b.example.com'])
    const allow = { name: 'old', actions: ['connect:tcp'], decision: 'allow' }
    const policies = [
      {
        name: 'web',
        rules: [{ ...allow, resources: ['a.example.com'], expires_at: '2026-11-01T00:00:00Z' }],
      },
      { name: 'trial', mode: 'shadow', rules: [{ ...allow, resources: ['b.example.com'] }] },
    ]
    await api('POST', '/apply', { policies })

    const { suggestions: found } = await suggested()

    const resources = found.map(({ resource }) => resource)
    expect(resources).toEqual(['a.example.com:443', 'b.example.com:443'])
  })

  it('are of the time that is asked for', async () => {
    await populate(['a.example.com'])

    const before = await suggested({ until: '2026-11-21T07:59:59Z' })
    const during = await suggested({ since: '2026-11-21T08:00:00Z' })

    expect(before.examined.decisions).toBe(0)
    expect(during.suggestions).toHaveLength(1)
  })

  it('name no people, devices and programs without `audit:read`', async () => {
    await populate(['a.example.com'])
    const editor = await owner.addMember(freshName('edith'), 'editor', 'a long password of edith')

    const { suggestions: found } = await suggested({}, editor)

    expect(found).toMatchObject([
      { evidence: { devices: 3, users: 3, usernames: [], device_ids: [], programs: [] } },
    ])
    for (const refused of [{ by: 'program' }, { by: 'user' }, { min_devices: 1 }] as const)
      expect((await ask(refused, editor)).statusCode).toBe(403)
  })

  it('show no name of a single device in a wildcard without `audit:read`', async () => {
    await populate([], (user) => [`${user}-1.example.com`, `${user}-2.example.com`])
    const editor = await owner.addMember(freshName('edith'), 'editor', 'a long password of edith')

    const answer = await ask({ generalize: true }, editor)
    const named = await ask({ generalize: true })

    expect(answer.json().suggestions).toMatchObject([{ resource: '*.example.com:443' }])
    expect(people.filter((user) => answer.body.includes(user))).toEqual([])
    expect(named.body).toContain(`${people[0]}-1.example.com`)
  })

  it('are for owners, editors and auditors alone', async () => {
    const auditor = await owner.addMember(freshName('carol'), 'auditor', 'a long password of carol')
    const member = await owner.addMember(freshName('bob'), 'member', 'a long password of bob')
    const stranger = await openOwner(test, freshName('other'), freshName('mallory'))
    const weak = await Promise.all(
      (['policies:read', 'audit:read'] as const).map((each) => owner.organizationToken([each])),
    )

    expect((await ask({}, auditor)).statusCode).toBe(200)
    expect((await ask({}, member)).statusCode).toBe(403)
    expect((await ask({}, stranger.as)).statusCode).toBe(404)
    for (const token of weak) expect((await ask({}, token)).statusCode).toBe(403)
  })

  it('leave an event for their reader', async () => {
    await suggested()

    const url = `/api/v1/orgs/${org}/events?kind=audit_log.read`
    const { data } = (await test.send('GET', url, { as: owner.as })).json()
    expect(data).toMatchObject([
      { actor: `user:${alice}`, after: { reader: `user:${alice}`, for: 'suggestions' } },
    ])
  })

  it.each([
    [{ since: '2026-11-21T08:00:00Z', until: '2026-11-20T08:00:00Z' }, '`since` must be before'],
    [{ since: '2020-11-21T08:00:00Z' }, 'at most 400 days'],
    [{ since: 'yesterday' }, '`since` must be an RFC 3339 instant'],
    [{ by: 'device' }, '`by` must be one of'],
    [{ min_members: 0 }, '`min_members`'],
    [{ other: 1 }, 'other'],
  ])('refuse the body %j', async (payload, message) => {
    const answer = await test.send('POST', suggestions, { as: owner.as, payload })

    expect(answer.statusCode).toBe(400)
    expect(answer.json().error.message).toContain(message)
  })
})
