import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { openOwner } from '../../server/owner.ts'
import { HEADER, linesOf, recordOf, textOf } from '../../server/evidence/ingest/batch-text.ts'
import { enrolTestDevice, headersOf } from '../../server/test-device.ts'
import { openTestServer } from '../../server/test-server.ts'
import { runCli } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const RECORDS = '/api/v1/device/records'
const PERIOD = ['--since', '2026-11-20', '--until', '2026-11-22']
/** A program whose name tries to leave its comment. */
const HOSTILE = '/tmp/x\n- evil\u001b[2K\u2028y'

describe('palisade suggest', () => {
  it('writes a file that `plan` and `apply` take, with its evidence in comments', async () => {
    await using directory = await temporaryDirectory()
    const { run } = await populated(directory.path)

    const printed = await run('suggest', ...PERIOD)
    const written = await run('suggest', ...PERIOD, '--out', 'suggested.yaml')

    const file = await readFile(join(directory.path, 'suggested.yaml'), 'utf8')
    expect([printed.code, printed.err, printed.out]).toEqual([0, '', file])
    expect(parse(file)).toEqual({
      policies: [
        {
          name: 'suggested for backend',
          scope: { teams: ['backend'] },
          rules: [
            {
              name: 'connect:tcp example.com:443',
              actions: ['connect:tcp'],
              decision: 'allow',
              resources: ['a.example.com:443', 'b.example.com:443'],
            },
          ],
        },
      ],
    })
    expect(file).toContain('# 2 devices, 2 of 2 members (ann, ben), 2 decisions, 2026-11-21 to')
    expect(file).toContain('Newly opened for backend:\n#   connect:tcp a.example.com:443')
    expect(file).toContain('#   connect:tcp github.io:443: public_suffix')
    expect(file).not.toMatch(/^- evil/m)
    expect(file).not.toContain('\u001b')
    expect(written.out).toMatch(/^RESOURCE +FOR +DEVICES +MEMBERS +DECISIONS +LOOK TWICE\n/)
    expect(written.out).toContain('next: palisade plan suggested.yaml')
    const planned = await run('plan', 'suggested.yaml')
    expect([planned.code, planned.out]).toEqual([0, expect.stringContaining('a.example.com:443')])
    expect((await run('apply', 'suggested.yaml', '--yes')).code).toBe(0)
    const after = await run('suggest', ...PERIOD)
    expect(parse(after.out)).toEqual({ policies: [] })
    expect(after.out).toContain('already_allowed: 2 targets, 4 decisions')
    const observed = await run('suggest', ...PERIOD, '--from', 'observed')
    expect(observed.out).toContain('# No such request is recorded.')
  })

  it('prints the whole answer as JSON', async () => {
    await using directory = await temporaryDirectory()
    const { run } = await populated(directory.path)

    const { out } = await run('suggest', ...PERIOD, '--by', 'program', '--json')

    expect(out).not.toContain('\u001b')
    expect(out).not.toContain('\u2028')
    expect(JSON.parse(out)).toMatchObject({
      suggestions: [{ resource: 'a.example.com:443' }, { resource: 'b.example.com:443' }],
      not_covered: [{ target: 'github.io:443' }],
    })
  })

  it('says what is wrong before it asks the server', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('old.yaml', 'policies: []')
    const setting = { home: directory.path, cwd: directory.path }

    for (const [argv, message] of [
      [['--from', 'logs'], 'Allowed choices are denials, observed'],
      [['--by', 'device'], 'Allowed choices are team, user, program'],
      [['--since', 'yesterday'], 'such as `30d`'],
      [['--min-devices', '0'], '`--min-devices` must be a whole number'],
      [['--out', 'x.yaml', '--json'], '`--out` writes YAML'],
      [['--out', 'old.yaml'], 'exists; name a new file'],
    ] as const) {
      const refused = await runCli(['suggest', ...argv], setting)
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(message)])
    }
  })
})

/** A server with a team of two, each with a machine, and a terminal that has signed in. */
async function populated(path: string) {
  const test = await openTestServer()
  const owner = await openOwner(test, 'acme', 'alice')
  await owner.uploadEverything()
  const api = async (method: 'POST' | 'PUT', url: string, payload?: object) =>
    test.send(method, `/api/v1/orgs/acme${url}`, {
      as: owner.as,
      ...(payload === undefined ? {} : { payload }),
    })
  const { id } = (await api('POST', '/teams', { name: 'backend' })).json()
  const records = ['a.example.com', 'b.example.com', 'github.io'].map((host) =>
    recordOf({ request: { action: 'connect:tcp', host, port: 443 }, program: HOSTILE }),
  )
  for (const [index, user] of ['ann', 'ben'].entries()) {
    await owner.addMember(user, 'member', `a long password of ${user}`)
    await api('PUT', `/teams/${id}/members/${user}`)
    const device = await enrolTestDevice(test, owner.as, 'acme', { user })
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
  const url = await test.server.app.listen({ host: '127.0.0.1', port: 0 })
  const setting = { home: path, cwd: path, stdin: owner.personalToken }
  const run = (...argv: string[]) => runCli(argv, setting)
  await run('login', '--server', url, '--org', 'acme', '--username', 'alice', '--token-stdin')
  return { run }
}
