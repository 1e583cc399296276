import type { UploadedRecord } from '@palisade/protocol'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  downloadAuditLog,
  pageQuery,
} from '../../../../server/src/evidence/audit/download-audit-log.ts'
import { ApiError } from '../../../../server/src/platform/api-error.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, headersOf, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { HASH, HEADER, linesOf, recordOf, textOf } from '../ingest/batch-text.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const RECORDS = '/api/v1/device/records'

describe('the download of the audit log', () => {
  let test: TestServer
  let org: string
  let alice: string
  let log: string
  let pages: string
  let owner: Owner
  let device: TestDevice

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    log = `/api/v1/orgs/${org}/audit-log`
    pages = `/v2/auditlogs/governance/${org}`
    owner = await openOwner(test, org, alice)
    await owner.uploadEverything()
    device = await enrolTestDevice(test, owner.as, org, { name: 'laptop', user: alice })
  })

  const upload = async (records: readonly UploadedRecord[], from = device, first = 1) => {
    const header = first === 1 ? HEADER : { ...HEADER, first, previous: HASH }
    const answer = await test.server.app.inject({
      method: 'POST',
      url: RECORDS,
      headers: {
        ...headersOf(from, 'POST', RECORDS),
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
      payload: gzipSync(textOf(header, linesOf(records, first))),
    })
    expect(answer.statusCode).toBe(200)
  }
  const hostOf = (host: string) => ({ action: 'connect:tcp', host, port: 443 }) as const
  const download = (query = '', as = owner.as) => test.send('GET', log + query, { as })

  it('has every event of all pages, as lines of JSON or comma-separated values', async () => {
    const hosts = Array.from({ length: 1_201 }, (_, index) => `host-${index}.example`)
    await upload(hosts.map((host) => recordOf({ request: hostOf(host) })))

    const lines = await download()
    expect(lines.headers['content-type']).toContain('application/x-ndjson')
    const found = lines.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(new Set(found.map(({ payload }) => payload.network_egress.host))).toEqual(new Set(hosts))
    const csv = await download('?format=csv&resource_id=host-7.example')
    expect(csv.headers['content-type']).toContain('text/csv')
    expect(csv.body).toMatch(/^audit_event_id,created_at,.*\r\n\d+,.*host-7\.example:443.*\r\n$/)
  })

  it('reads no further page for a HEAD, which nobody would take', async () => {
    const hosts = Array.from({ length: 1_201 }, (_, index) => `host-${index}.example`)
    await upload(hosts.map((host) => recordOf({ request: hostOf(host) })))
    const lists = vi.spyOn(test.evidence, 'list')
    onTestFinished(() => lists.mockRestore())

    const { statusCode, headers, body } = await test.server.app.inject({
      method: 'HEAD',
      url: log,
      headers: { authorization: `Bearer ${owner.as}` },
    })

    expect([statusCode, headers['content-type'], body]).toEqual([200, 'application/x-ndjson', ''])
    // The pages of an organization are read in turn, so another one of the HEAD came before this.
    expect((await test.send('GET', pages, { as: owner.as })).statusCode).toBe(200)
    expect(lists).toHaveBeenCalledTimes(2)
  })

  it('has no formula and no line that a machine has chosen', async () => {
    await upload([recordOf({ request: hostOf('=cmd()\r\n"x",y') })])
    const { body } = await download('?format=csv')
    expect(body.split('\r\n')).toHaveLength(3)
    expect(body).toContain(`"'=cmd()\\u000d\\u000a""x"",y:443"`)
  })

  it('has no semicolon, at which a spreadsheet of most of Europe begins a cell', async () => {
    await upload([recordOf({ request: hostOf(`a;=cmd|' /C calc'!A0;b`) })])
    const { body } = await download('?format=csv')
    expect(body).not.toContain(';')
    expect(body).toContain(`a\\u003b=cmd|' /C calc'!A0\\u003bb:443`)
  })

  it('leaves room for others beside one who takes nothing of many downloads', async () => {
    const username = freshName('bob')
    const bob = await owner.addMember(username, 'member', 'a long password of bob')
    const { app } = test.server
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const other = await enrolTestDevice(test, bob, org, { name: 'desktop', user: username })
    for (let part = 0; part < 4; part += 1)
      await upload(
        Array.from({ length: 1_000 }, (_, index) =>
          recordOf({ request: { action: 'read', path: `/${part}/${index}/${'x'.repeat(3_000)}` } }),
        ),
        other,
        part * 1_000 + 1,
      )

    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      const answer = await fetch(origin + log, { headers: { authorization: `Bearer ${bob}` } })
      onTestFinished(() => answer.body?.cancel())
      statuses.push(answer.status)
    }

    expect(statuses).toEqual([200, 200, 429, 429])
    expect((await download('?resource_id=none')).statusCode).toBe(200)
  })

  it('leaves an event, is bounded as the list, and is closed to others', async () => {
    await upload([recordOf()])
    await download()
    const url = `/api/v1/orgs/${org}/events?kind=audit_log.read`
    const noted = await test.send('GET', url, { as: owner.as })
    expect(noted.json().data).toHaveLength(1)
    const long = await download('?from=2026-01-01T00:00:00Z')
    expect([long.statusCode, long.json().error.message]).toEqual([
      400,
      expect.stringContaining('at most 30 days'),
    ])
    expect((await download('?format=xml')).statusCode).toBe(400)
    const bob = await owner.addMember(freshName('bob'), 'member', 'a long password of bob')
    expect((await download('', bob)).body).toBe('')
    expect((await download(`?username=${alice}`, bob)).statusCode).toBe(403)
    const weak = await owner.organizationToken(['policies:read'])
    expect((await download('', weak)).statusCode).toBe(403)
    const stranger = await openOwner(test, freshName('other'), freshName('mallory'))
    expect((await download('', stranger.as)).statusCode).toBe(404)
  })

  it('filters by the action type of events, also of a request that is unreadable', async () => {
    await upload([
      recordOf({ request: null }),
      recordOf({ request: { action: 'read', path: '/' } }),
    ])
    for (const type of ['network_egress', 'filesystem_mount']) {
      const { events } = (
        await test.send('GET', `${pages}?action_type=${type}`, { as: owner.as })
      ).json<{ events: { action_type: string }[] }>()
      expect(events.map(({ action_type }) => action_type)).toEqual([type])
    }
  })

  it('filters by enforcement mode, and by the class that the device has now', async () => {
    await upload([
      recordOf({ request: hostOf('denied.example') }),
      recordOf({ decision: 'allow', reason: 'observed', request: hostOf('seen.example') }),
    ])
    const hosts = async (query: string) => {
      const { events } = (await test.send('GET', pages + query, { as: owner.as })).json<{
        events: { payload: { network_egress: { host: string } } }[]
      }>()
      return events.map(({ payload }) => payload.network_egress.host)
    }
    expect(await hosts('?enforcement_mode=audit')).toEqual(['seen.example'])
    expect(await hosts('?enforcement_mode=enforce')).toEqual(['denied.example'])
    expect(await hosts('?enforcement_mode=warn')).toEqual([])
    expect(await hosts('?assurance_class=<linux-sandbox')).toHaveLength(2)
    expect(await hosts('?assurance_class=proxy-only')).toEqual([])
    const report = { state: 'fresh', agent_version: '1', assurance: 'proxy-only' }
    await test.send('POST', '/api/v1/device/report', { as: device, payload: report })
    await expect.poll(() => hosts('?assurance_class=proxy-only')).toHaveLength(2)
    expect(await hosts('?assurance_class=<proxy-only')).toEqual([])
  })
})

describe('downloadAuditLog', () => {
  it('reads a page when the one before was taken, and ends with its reader', async () => {
    let read = 0
    const event = { payload: { resource_id: 'x:1' } }
    const page = () => ({ events: [event], next_page_token: `page-${read}` }) as never
    const stream = downloadAuditLog({}, page(), async (query) => {
      read += 1
      expect(query).toEqual(pageQuery({}, `page-${read - 1}`))
      return page()
    })
    const lines = stream[Symbol.asyncIterator]()
    for (let taken = 0; taken < 20; taken += 1) await lines.next()
    expect(read).toBeLessThan(25)
    await lines.return?.()
    const after = read
    await new Promise((resolve) => (stream.closed ? resolve(null) : stream.once('close', resolve)))
    expect([stream.destroyed, read]).toEqual([true, after])
  })

  it('asks again for a page that is refused because many are asked for', async () => {
    let attempts = 0
    const list = async () => {
      attempts += 1
      if (attempts < 4) throw new ApiError(429, 'limit_exceeded', 'too many')
      return { events: [{ id: 'last' }], next_page_token: '' } as never
    }
    const stream = downloadAuditLog({}, { events: [], next_page_token: 'next' }, list, 1)

    expect(await stream.toArray()).toEqual(['{"id":"last"}\n'])
    expect(attempts).toBe(4)
  })

  it('breaks off without an end when a page cannot be read', async () => {
    const first = { events: [], next_page_token: 'next' }
    const stream = downloadAuditLog({}, first, () => Promise.reject(new Error('the disk is gone')))
    await expect(Readable.from(stream).toArray()).rejects.toThrow('the disk is gone')
  })
})
