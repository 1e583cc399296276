import { expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli } from '../../run-cli.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

it('shows the newest changes of a real server as a table, or as JSON', async () => {
  await using directory = await temporaryDirectory()
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const setting = { home: directory.path, cwd: directory.path, stdin: personal_token }
  const run = (...argv: string[]) => runCli(argv, setting)
  await run('login', '--server', url, '--org', 'acme', '--username', 'alice', '--token-stdin')
  for (const name of ['one', 'two', 'three']) await run('policy', 'create', name)
  const since = ['--since', '2026-01-01T00:00:00Z']

  const short = await run('events', ...since, '--limit', '2')
  const table = await run('events', ...since, '--limit', '2', '--wide')
  const json = await run('events', ...since, '--kind', 'policy.created', '--json')
  const nothing = await run('events', ...since, '--actor', 'user:nobody')

  expect(short.out).toMatch(
    /^TIME +WHO +WHAT +NAME\n2026-11-21 08:00:00Z +user:alice +policy\.created +two\n/,
  )
  expect(table).toMatchObject({ code: 0, err: '' })
  const lines = table.out.split('\n')
  expect(lines[0]).toMatch(/^TIME +WHO +WHAT +NAME +FROM$/)
  expect(lines[1]).toMatch(
    /^2026-11-21T08:00:00\.250Z +user:alice +policy\.created +two +127\.0\.0\.1$/,
  )
  expect(lines[2]).toContain(' three ')
  expect(JSON.parse(json.out).data.map((event: { after: object }) => event.after)).toMatchObject([
    { name: 'one' },
    { name: 'two' },
    { name: 'three' },
  ])
  expect(nothing.code).toBe(0)
  expect(nothing.out).toMatch(/^no events since 2026-01-01T00:00:00Z; `--since 90d` looks further/)
  const plain = await run('events', ...since, '--actor', 'alice', '--json')
  expect(JSON.parse(plain.out).data.length).toBeGreaterThan(2)
  for (const actor of ['server', 'enrolment:acme:1', 'user:server'])
    expect((await run('events', ...since, '--actor', actor)).code).toBe(0)
  const malformed = await run('events', ...since, '--actor', 'Alice')
  expect([malformed.code, malformed.err]).toEqual([
    1,
    expect.stringContaining('`actor` must be `user:NAME`'),
  ])
  expect((await run('events', '--since', '30d', '--until', '0s')).code).toBe(0)
  const near = await run('events', '--kind', 'policy.create')
  expect(near.err).toContain('did you mean `policy.created`?')
  const subject = await run('events', '--kind', 'rule.add')
  expect(subject.err).toContain('did you mean `rule.created` or `rule.updated` or `rule.deleted`?')
  for (const argv of [
    ['--limit', '0'],
    ['--limit', 'x'],
    ['--kind', 'policy.invented'],
  ])
    expect((await run('events', ...argv)).code).toBe(2)
  expect((await run('events', '--since', 'yesterday')).err).toContain('such as `30d`')
})
