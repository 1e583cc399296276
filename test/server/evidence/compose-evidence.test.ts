import { FIRST_PREVIOUS, type AuditPage, type UploadedRecord } from '@palisade/protocol'
import { gzipSync } from 'node:zlib'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice, headersOf, type TestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { HASH, HEADER, linesOf, recordOf, textOf } from './ingest/batch-text.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const RECORDS = '/api/v1/device/records'
/** As the clock of the test server. */
const AT = '2026-11-21T08:00:00.000Z'

describe('the evidence of machines', () => {
  /** Its clock stays. */
  let shared: TestServer
  let test: TestServer
  let org: string
  let alice: string
  let auditLog: string
  let owner: Owner
  let device: TestDevice

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    shared = await openTestServer(atEnd)
  })
  beforeEach(() => open(shared))

  async function open(server: TestServer): Promise<void> {
    test = server
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    auditLog = `/v2/auditlogs/governance/${org}`
    owner = await openOwner(test, org, alice)
    await owner.uploadEverything()
    device = await enrolTestDevice(test, owner.as, org, { name: 'laptop', user: alice })
  }

  const send = (text: string | Buffer, as: TestDevice = device, headers = {}) =>
    test.server.app.inject({
      method: 'POST',
      url: RECORDS,
      headers: {
        ...headersOf(as, 'POST', RECORDS),
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
        ...headers,
      },
      payload: typeof text === 'string' ? gzipSync(text) : text,
    })
  const upload = (records: readonly UploadedRecord[], header: object = HEADER, first = 1) =>
    send(textOf({ ...header, first }, linesOf(records, first)))
  const position = async (as = device) => (await test.send('GET', RECORDS, { as })).json()
  const audit = async (query = '', as = owner.as): Promise<AuditPage> => {
    const answer = await test.send('GET', `${auditLog}${query}`, { as })
    expect(answer.statusCode, answer.body).toBe(200)
    return answer.json()
  }
  const events = async (kind: string, as = owner.as) => {
    const url = `/api/v1/orgs/${org}/events?kind=${kind}`
    return (await test.send('GET', url, { as })).json().data
  }

  it('is stored once, with the position up to which it is durable', async () => {
    expect(await position()).toEqual({ position: null })

    const first = await upload([recordOf(), recordOf({ decision: 'allow', reason: 'rule' })])
    const again = await upload([recordOf(), recordOf({ decision: 'allow', reason: 'rule' })])

    const expected = { position: { boot: 'b1', seq: 2, hash: HASH } }
    expect([first.statusCode, first.json()]).toEqual([200, expected])
    expect([again.statusCode, again.json()]).toEqual([200, expected])
    expect(await position()).toEqual(expected)
    expect((await audit()).events).toHaveLength(2)
  })

  describe('by a machine that does not obey the settings', () => {
    const path = '/home/alice/private/letter.txt'
    const dishonest = [
      recordOf({ program: '/home/alice/bin/tool', os_user: 'alice-of-hr' }),
      recordOf({ request: { action: 'read', path } }),
      recordOf({ decision: 'allow', reason: 'rule', count: 5 }),
    ]
    const choose = async (evidence: object) => {
      const url = `/api/v1/orgs/${org}`
      const answer = await test.send('PATCH', url, { as: owner.as, payload: { evidence } })
      expect(answer.statusCode, answer.body).toBe(200)
    }
    const chain = async () => {
      const url = `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}/records`
      return (await test.send('GET', url, { as: owner.as })).json()
    }

    it('is acknowledged and not stored where the organization wants none', async () => {
      await choose({ upload: 'off' })
      const end = { boot: 'b1', seq: 3, hash: HASH }

      const answer = await upload(dishonest)

      expect([answer.statusCode, answer.json()]).toEqual([200, { position: end }])
      expect((await audit()).events).toEqual([])
      expect(await test.evidence.firstDay(org)).toBeNull()
      expect(await chain()).toMatchObject({ left_out: 7, lost: 0, recent_losses: [] })
      await choose({ upload: 'denials' })
      await upload([recordOf()], { ...HEADER, previous: HASH }, 4)
      expect((await audit()).events).toHaveLength(1)
      expect(await chain()).toMatchObject({ gaps: 0 })
    })

    it('loses allowed requests, segments, programs and users before it is stored', async () => {
      await choose({ upload: 'denials', path_depth: 1, programs: false, users: false })

      await upload(dishonest)

      const { events } = await audit()
      expect(
        events.map(({ payload, agent, os_user }) => [payload.resource_id, agent, os_user]),
      ).toEqual([
        ['/home', null, null],
        ['example.com:443', null, null],
      ])
      expect(await chain()).toMatchObject({ left_out: 5 })
    })

    it('is stored as the settings are at the time of each batch', async () => {
      await upload([recordOf({ os_user: 'alice-of-hr' })])
      await choose({ users: false })
      await upload([recordOf({ os_user: 'alice-of-hr' })], { ...HEADER, previous: HASH }, 2)

      expect((await audit()).events.map(({ os_user }) => os_user)).toEqual([null, 'alice-of-hr'])
    })
  })

  it('beyond the limit of a device is acknowledged, and shown as lost', async () => {
    await open(
      await openTestServer(undefined, { settings: { PALISADE_MAX_EVIDENCE_MIB_OF_DEVICE: '1' } }),
    )
    const different = Array.from({ length: 3_000 }, (_, index) =>
      recordOf({ request: { action: 'connect:tcp', host: `h${index}.example`, port: 443 } }),
    )

    const answer = await upload(different)
    const next = await upload([recordOf()], { ...HEADER, previous: HASH }, 3_001)

    expect([answer.statusCode, next.statusCode]).toEqual([200, 200])
    expect((await audit()).events).toHaveLength(1)
    const url = `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}/records`
    expect((await test.send('GET', url, { as: owner.as })).json()).toMatchObject({
      position: { seq: 3_001 },
      gaps: 0,
      lost: 3_000,
      recent_losses: [{ reason: 'device_quota', lost: 3_000 }],
    })
  })

  it('is shown with its device, its user and the rules that decided', async () => {
    const rules = [
      { policy_id: 'pol_1', rule_id: 'rule_1', decision: 'allow', origin: 'org' },
    ] as const
    const request = { action: 'connect:tcp', host: 'example.com', port: 443, address: '192.0.2.1' }
    await upload([
      recordOf({
        decision: 'allow',
        reason: 'rule',
        rules: [...rules],
        request: request as never,
        sandbox: 's1',
        program: '/usr/bin/curl',
        count: 3,
      }),
    ])

    expect((await audit()).events).toEqual([
      {
        audit_event_id: expect.any(String),
        org_id: org,
        event_type: 'evaluation',
        category: 'AUDIT_CATEGORY_EVALUATION',
        decision: 'AUDIT_DECISION_ALLOW',
        action_type: 'network_egress',
        enforcement_mode: 'enforce',
        audit_session_id: 's1',
        username: alice,
        created_at: AT,
        ingested_at: '2026-11-21T08:00:00.250Z',
        payload: {
          resource_id: 'example.com:443',
          network_egress: {
            protocol: 'tcp',
            host: 'example.com',
            port: 443,
            address: '192.0.2.1',
          },
          deny_reason: [],
        },
        reason: 'rule',
        rules,
        revision: 3,
        device_id: device.enrolment.device_id,
        hostname: 'laptop',
        assurance_class: null,
        agent: '/usr/bin/curl',
        os_user: null,
        point: 'proxy',
        first_at: AT,
        count: 3,
        connections: 0,
        bytes_sent: 0,
        bytes_received: 0,
      },
    ])
  })

  it('is found by each filter, and by none that does not fit', async () => {
    const path = { action: 'read', path: '/data', path_cut: true } as const
    await upload([
      recordOf({ program: '/usr/bin/curl' }),
      recordOf({ decision: 'allow', reason: 'rule', request: path, sandbox: 's1' }),
    ])
    const id = device.enrolment.device_id
    const both: readonly (readonly [string, number])[] = [
      [`?username=${alice}`, 2],
      ['?username=bob', 0],
      [`?device_id=${id}`, 2],
      ['?device_id=other', 0],
      ['?decision=AUDIT_DECISION_DENY', 1],
      ['?action_type=filesystem_mount', 1],
      ['?audit_session_id=s1', 1],
      ['?resource_id=example.com:4', 1],
      ['?resource_id=xample', 0],
      ['?query=XAMPLE', 1],
      ['?query=%25%25%25', 0],
      ['?agent=/usr/bin/curl', 1],
      ['?rule_id=rule_1', 0],
      ['?from=2026-11-21T08:00:00Z', 2],
      ['?to=2026-11-21T08:00:00Z', 0],
      [`?username=${alice}&decision=AUDIT_DECISION_ALLOW&query=data`, 1],
    ]
    for (const [query, count] of both) expect((await audit(query)).events.length, query).toBe(count)
  })

  it('stays readable when a machine claims impossible counts', async () => {
    const count = Number.MAX_SAFE_INTEGER
    const flow = { bytes_sent: count, bytes_received: count }
    const records = Array.from({ length: 2_000 }, () => [recordOf({ count }), recordOf({ flow })])
    expect((await upload(records.flat())).statusCode).toBe(200)
    const losses = [1, 2, 3, 4].map((each) =>
      each % 2 === 0
        ? { seq: 4_000 + each, hash: HASH, left_out: count }
        : { seq: 4_000 + each, hash: HASH, time: AT, lost: count, reason: 'queue_full' },
    )
    const header = { ...HEADER, first: 4_001, previous: HASH }
    expect((await send(textOf(header, losses))).statusCode).toBe(200)

    expect((await audit()).events).toMatchObject([{ count: 1e9, bytes_sent: 1e15 }])
    const url = `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}/records`
    const shown = await test.send('GET', url, { as: owner.as })
    expect(shown.json()).toMatchObject({ lost: 2e9, left_out: 2e9 })
  })

  it('is answered page by page, the newest first', async () => {
    await upload(
      Array.from({ length: 5 }, (_, index) =>
        recordOf({ time: `2026-11-21T07:0${index}:00.000Z` }),
      ),
    )
    const seen: string[] = []
    let query = '?page_size=2'
    for (;;) {
      const page = await audit(query)
      seen.push(...page.events.map(({ created_at }) => created_at.slice(14, 16)))
      if (page.next_page_token === '') break
      query = `?page_size=2&page_token=${page.next_page_token}`
    }
    expect(seen).toEqual(['04', '03', '02', '01', '00'])
  })

  it.each([
    ['from=2026-11-21T08:00:00Z&to=2026-11-20T08:00:00Z', '`from` must be before `to`'],
    ['from=2026-01-01T00:00:00Z&to=2026-11-20T08:00:00Z', 'at most 30 days'],
    ['from=yesterday', '`from` must be an RFC 3339 instant'],
    ['decision=deny', '`decision` must be one of'],
    ['query=ab', '`query` must have at least 3 characters'],
    ['page_token=forged', '`page_token` is not of this list'],
    ['other=1', 'other'],
  ])('refuses the query %s', async (query, message) => {
    const answer = await test.send('GET', `${auditLog}?${query}`, { as: owner.as })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().error.message).toContain(message)
  })

  it('opens the decisions of others with `audit:read` alone', async () => {
    const username = freshName('bob')
    const bob = await owner.addMember(username, 'member', 'a long password of bob')
    const auditor = await owner.addMember(freshName('carol'), 'auditor', 'a long password of carol')
    const other = await enrolTestDevice(test, bob, org, { user: username })
    await upload([recordOf()])
    const header = { ...HEADER, boot: 'b9' }
    expect((await send(textOf(header, linesOf([recordOf()])), other)).statusCode).toBe(200)

    expect((await audit('', auditor)).events).toHaveLength(2)
    expect((await audit('', bob)).events.map((each) => each.username)).toEqual([username])
    expect((await audit(`?username=${username}`, bob)).events).toHaveLength(1)
    const refused = await test.send('GET', `${auditLog}?username=${alice}`, { as: bob })
    expect(refused.statusCode).toBe(403)
    expect(refused.json().error.message).toContain('`audit:read`')
  })

  it('is closed to strangers, to machines, and to tokens without the permission', async () => {
    const other = freshName('other')
    const stranger = await openOwner(test, other, freshName('mallory'))
    const weak = await owner.organizationToken(['policies:read'])
    expect((await test.send('GET', auditLog)).statusCode).toBe(401)
    expect((await test.send('GET', auditLog, { as: device })).statusCode).toBe(401)
    expect((await test.send('GET', auditLog, { as: stranger.as })).statusCode).toBe(404)
    expect((await test.send('GET', auditLog, { as: weak })).statusCode).toBe(403)
  })

  it('is open to an organization token itself, until it is revoked', async () => {
    const url = `/api/v1/orgs/${org}/access-tokens`
    const payload = { name: 'collector', permissions: ['audit:read'], expires_in_days: 1 }
    const made = (await test.send('POST', url, { as: owner.as, payload })).json()
    expect((await audit('', made.token)).events).toEqual([])

    await test.send('DELETE', `${url}/${made.id}`, { as: owner.as })

    expect((await test.send('GET', auditLog, { as: made.token })).statusCode).toBe(401)
    const changed = `${String(made.token).slice(0, -1)}x`
    expect((await test.send('GET', auditLog, { as: changed })).statusCode).toBe(401)
    const elsewhere = await test.send('GET', `/api/v1/orgs/${org}/devices`, { as: made.token })
    expect(elsewhere.statusCode).toBe(401)
  })

  it('leaves an event for its reader, once an hour', async () => {
    await open(await openTestServer())
    await audit()
    await audit('?page_size=1')
    expect(await events('audit_log.read')).toMatchObject([
      { actor: `user:${alice}`, after: { reader: `user:${alice}` } },
    ])
    test.advance(61 * 60_000)
    const later = await test.signIn(alice, owner.personalToken)
    await audit('', later)
    expect(await events('audit_log.read', later)).toHaveLength(2)
  })

  it('leaves one event for readings at once', async () => {
    await Promise.all([audit(), audit(), audit('?page_size=1')])
    expect(await events('audit_log.read')).toHaveLength(1)
  })

  it('leaves an event where the chain of a machine does not hold', async () => {
    await upload([recordOf()])
    await upload([recordOf()], { ...HEADER, previous: 'b'.repeat(64) }, 5)
    await expect
      .poll(() => events('device.records_marked'))
      .toMatchObject([
        {
          actor: 'server',
          subject: { id: device.enrolment.device_id, name: alice },
          after: { mark: 'gap', missing_lines: 3 },
        },
      ])
  })

  it('shows the chain of one device, with its losses, to readers of the log', async () => {
    const url = `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}/records`
    const show = async (as: string) => test.send('GET', url, { as })
    expect((await show(owner.as)).json()).toMatchObject({ position: null, received_at: null })
    await upload([recordOf()])
    const lost = { lost: 4, reason: 'queue_full', time: AT }
    const lines = [
      { seq: 5, hash: HASH, ...lost },
      { seq: 9, hash: HASH, left_out: 7 },
    ]
    expect((await send(textOf({ ...HEADER, first: 5 }, lines))).statusCode).toBe(200)

    expect((await show(owner.as)).json()).toEqual({
      position: { boot: 'b1', seq: 9, hash: HASH },
      received_at: expect.stringMatching(/^2026-11-21T08:00:00/),
      gaps: 1,
      forks: 0,
      rewinds: 0,
      marked_at: '2026-11-21T08:00:00.250Z',
      lost: 4,
      left_out: 7,
      recent_losses: [
        { reason: 'gap', lost: 3, last_at: '2026-11-21T08:00:00.250Z' },
        { reason: 'queue_full', lost: 4, last_at: AT },
      ],
    })
    const bob = await owner.addMember(freshName('bob'), 'member', 'a long password of bob')
    expect((await show(bob)).statusCode).toBe(403)
    const other = freshName('other')
    const stranger = await openOwner(test, other, freshName('mallory'))
    expect((await show(stranger.as)).statusCode).toBe(404)
    const elsewhere = url.replace(org, other)
    expect((await test.send('GET', elsewhere, { as: stranger.as })).statusCode).toBe(404)
  })

  it('asks a machine for another batch that overlaps without the last line', async () => {
    await upload([recordOf(), recordOf()])
    const line = { seq: 5, hash: HASH, left_out: 1 }
    const answer = await send(textOf({ ...HEADER, previous: FIRST_PREVIOUS }, [line]))
    expect([answer.statusCode, answer.json().error.message]).toEqual([
      409,
      expect.stringContaining('ask for their position'),
    ])
  })

  it('takes no records without a proof, of a revoked machine, or of a person', async () => {
    const text = textOf(HEADER, linesOf([recordOf()]))
    expect((await send(text, device, { dpop: 'x' })).statusCode).toBe(401)
    expect((await test.send('POST', RECORDS, { as: owner.as })).statusCode).toBe(401)
    const url = `/api/v1/orgs/${org}/devices/${device.enrolment.device_id}`
    expect((await test.send('DELETE', url, { as: owner.as })).statusCode).toBe(204)
    expect((await send(text)).statusCode).toBe(401)
    expect((await audit()).events).toEqual([])
  })

  it('slows one machine down, and no other', async () => {
    const other = await enrolTestDevice(test, owner.as, org)
    const statuses: number[] = []
    for (let count = 0; count < 21; count += 1) statuses.push((await send('{')).statusCode)
    const last = await send('{')
    expect([new Set(statuses.slice(0, 20)), statuses[20]]).toEqual([new Set([400]), 429])
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0)
    expect((await send(textOf(HEADER, linesOf([recordOf()])), other)).statusCode).toBe(200)
  })

  it.each([
    ['no gzip', Buffer.from('{}'), 400],
    ['a gigabyte of zeros, packed', gzipSync(Buffer.alloc(64 * 1024 * 1024)), 413],
    ['a megabyte and more', Buffer.alloc(1024 * 1024 + 1), 413],
  ])('refuses a body of %s', async (_title, body, status) => {
    const answer = await send(body)
    expect(answer.statusCode).toBe(status)
    expect(await position()).toEqual({ position: null })
  })
})
