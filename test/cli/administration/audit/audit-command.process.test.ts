import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { HEADER, linesOf, recordOf, textOf } from '../../../server/evidence/ingest/batch-text.ts'
import { openOwner } from '../../../server/owner.ts'
import { enrolTestDevice, headersOf } from '../../../server/test-device.ts'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli } from '../../run-cli.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const ASKED = { action: 'connect:tcp', host: 'asked.example.net', port: 443 } as const

it('shows uploaded decisions as a table, lines of JSON, and comma-separated values', async () => {
  await using directory = await temporaryDirectory()
  const test = await openTestServer()
  const owner = await openOwner(test, 'acme', 'alice')
  const { as, personalToken: personal_token } = owner
  await owner.uploadEverything()
  const machine = { name: 'laptop', user: 'alice' }
  const device = await enrolTestDevice(test, as, 'acme', machine)
  const path = '/api/v1/device/records'
  const records = [
    recordOf({ program: '=cmd|"x"', os_user: '＝cmd', count: 4 }),
    recordOf({
      decision: 'allow',
      reason: 'rule',
      rules: [{ policy_id: 'p', rule_id: 'rule_1', decision: 'allow', origin: 'org' }],
      request: { action: 'read', path: '/data', path_cut: true },
    }),
    recordOf({ time: '2026-11-21T07:00:00.000Z', request: null, reason: 'invalid_request' }),
    recordOf({ time: '2026-11-21T06:00:00.000Z', point: 'local_api', request: ASKED }),
  ]
  const sent = await test.server.app.inject({
    method: 'POST',
    url: path,
    headers: {
      ...headersOf(device, 'POST', path),
      'content-type': 'application/x-ndjson',
      'content-encoding': 'gzip',
    },
    payload: gzipSync(textOf(HEADER, linesOf(records))),
  })
  expect(sent.statusCode, sent.body).toBe(200)
  const url = await test.server.app.listen({ host: '127.0.0.1', port: 0 })
  const setting = { home: directory.path, cwd: directory.path, stdin: personal_token }
  const run = (...argv: string[]) => runCli(argv, setting)
  await run('login', '--server', url, '--org', 'acme', '--username', 'alice', '--token-stdin')
  const since = ['--since', '2026-11-21', '--until', '2026-11-22']

  const table = await run('audit', ...since)
  const lines = table.out.split('\n')
  expect(table).toMatchObject({ code: 0, err: '' })
  expect(lines[0]).toMatch(/^TIME +DECISION +USER +DEVICE +TARGET +WHY +COUNT +PROGRAM$/)
  expect(lines.filter((line) => line.includes('tcp example.com:443'))).toEqual([
    expect.stringMatching(/deny +alice +laptop +tcp example\.com:443 +default_deny +4 +=cmd/),
  ])
  expect(table.out).toMatch(/allow +alice +laptop +read \/data\/… +rule_1 +1/)
  expect(lines[3]).toContain('(cannot be read)')
  expect(lines[4]).toMatch(/asked\.example\.net:443 +asked: default_deny +1/)

  const json = await run('audit', ...since, '--decision', 'deny', '--json')
  const events = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.map(({ count }) => count)).toEqual([4, 1, 1])

  const csv = await run('audit', ...since, '--target', 'example.com', '--csv')
  const [head = '', row = ''] = csv.out.split('\r\n')
  expect(head.split(',')).toHaveLength(25)
  expect(row).toContain(`,"'=cmd|""x""",'＝cmd,`)
  expect(row).toMatch(/,proxy$/)

  expect((await run('audit', ...since, '--limit', '1')).out.split('\n')).toHaveLength(3)
  expect((await run('audit', ...since, '--user', 'bob')).out).toMatch(/^no decisions since/)
  expect((await run('audit', ...since, '--user', 'bob', '--json')).out).toBe('')
  const chain = await run('device', 'records', 'laptop')
  expect(chain.out).toMatch(/^stored up to +line 4 of boot b1\nhead +a{64}\n/)
  expect(chain.out).toMatch(
    /chain +whole\nleft out +0 decisions by the settings\nlost +0 decisions/,
  )
  for (const [argv, message] of [
    [['--decision', 'denied'], '`--decision` must be `allow` or `deny`'],
    [['--action', 'net'], '`--action` must be `network` or `files`'],
    [['--limit', '0'], '`--limit` must be `all`'],
    [['--text', 'ab'], 'at least 3 characters'],
    [['--since', 'yesterday'], 'such as `30d`'],
  ] as const) {
    const refused = await run('audit', ...argv)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(message)])
  }
})
