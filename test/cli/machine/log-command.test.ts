import type { LogVerification } from '@palisade/protocol'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { envelope, startLoopbackServer, type Reply } from '../../client/loopback-server.ts'
import { runCli, type CliRun, type CliSetting } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { DENIAL, FLOW, formatLines, LOSS, RULE_DENIAL } from './log-records.ts'

async function ask(
  argv: readonly string[],
  reply: Reply,
  setting: CliSetting = {},
): Promise<CliRun & { readonly urls: readonly string[] }> {
  await using directory = await temporaryDirectory()
  await using agent = await startLoopbackServer(() => reply, join(directory.path, 'agent.sock'))
  const result = await runCli(argv, { env: { PALISADE_AGENT_SOCKET: agent.url }, ...setting })
  return { ...result, urls: agent.seen.map(({ url }) => url) }
}

describe('palisade log', () => {
  it('prints a table with time, decision, target, reason, count and program', async () => {
    const result = await ask(['log'], { body: formatLines(DENIAL, RULE_DENIAL, FLOW, LOSS) })

    expect(result).toMatchObject({ code: 0, err: '', urls: ['/v1/log?limit=1000'] })
    expect(result.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['TIME', 'DECISION', 'TARGET', 'WHY', 'COUNT', 'PROGRAM'],
      [
        '2026-11-21 11:57:00Z',
        'deny',
        'connect:tcp api.example.com:443',
        'default_deny',
        '1',
        '/usr/bin/curl (4711)',
      ],
      [
        '2026-11-21 11:57:00Z',
        'deny',
        'connect:tcp api.example.com:443',
        'rule `no uploads`',
        '1',
        '/usr/bin/curl (4711)',
      ],
      [
        '2026-11-21 11:57:00Z',
        'allow',
        'connect:tcp api.example.com:443',
        'closed, 100 B out, 2000 B in',
        '3',
        '/usr/bin/curl (4711)',
      ],
      ['2026-11-21 11:58:00Z', 'lost', '9 decisions not recorded (queue_full)'],
      [''],
    ])
  })

  it('fits a terminal of 80 columns, and keeps every character of the target', async () => {
    const address = '203.0.113.80'
    const request = { ...DENIAL.decision.request, address } as typeof DENIAL.decision.request
    const far = { ...DENIAL, count: 3, decision: { ...DENIAL.decision, request } }

    const { out } = await ask(['log'], { body: formatLines(far) }, { columns: 80 })
    const wide = await ask(['log', '--wide'], { body: formatLines(far) }, { columns: 200 })

    const lines = out.trimEnd().split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
    expect(lines[0]).toMatch(/^TIME +DECISION +TARGET +WHY +PROGRAM$/)
    expect(lines[1]).toMatch(/^11-21 11:57:00 {2}deny +connect:tcp .+ default_deny +curl$/)
    const target = lines.slice(1).map((line) => line.slice(26, 55).trim())
    expect(target.join('').replaceAll(' ', '')).toBe(
      `connect:tcpapi.example.com:443at${address}(3)`,
    )
    expect(wide.out).toContain('2026-11-21T11:57:00.000Z')
  })

  it('names the user of a hidden process, marks a question, and an invalid request', async () => {
    const hidden = { ...DENIAL, program: { user: { uid: 33 } } }
    const { program: _known, ...unknown } = DENIAL
    const asked = { ...unknown, point: 'local_api' as const, protocol: 'decide' as const }
    const invalid = {
      ...unknown,
      decision: { ...DENIAL.decision, reason: 'invalid_request' as const, request: null },
    }

    const { out } = await ask(['log'], { body: formatLines(hidden, asked, invalid) })

    expect(out).toContain('a process of user 33\n')
    expect(out).toMatch(/asked: default_deny +1 +local API\n/)
    expect(out).toMatch(/deny +invalid_request +invalid_request +1\n/)
  })

  it('prints each record as a line of JSON, with every member', async () => {
    const { out } = await ask(['log', '--json'], { body: formatLines(DENIAL, FLOW, LOSS) })

    const lines = out.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([DENIAL, FLOW, LOSS])
  })

  it('prints no character that a terminal interprets', async () => {
    const path = '/\u001b[2J\u009b\u202e\u2028'
    const rule = { ...RULE_DENIAL.decision.rules[0], rule_name: 'x\u001b]0;\u0007' }
    const hostile = {
      ...DENIAL,
      decision: { ...RULE_DENIAL.decision, request: { action: 'read', path }, rules: [rule] },
      program: { pid: 1, executable: '/tmp/\u001b[31m', user: { uid: 0, name: '\u001b[0m' } },
    }
    const body = `${JSON.stringify(hostile)}\n`

    for (const argv of [['log'], ['log', '--json']]) {
      const { out } = await ask(argv, { body })
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    }
  })

  it('passes its options on', async () => {
    const body = formatLines(DENIAL)

    const { urls } = await ask(['log', '--denied', '--limit', '20', '--follow'], { body })

    expect(urls).toEqual(['/v1/log?limit=20&denied=1&follow=1'])
  })

  it('says that no decision is recorded', async () => {
    expect(await ask(['log'], { body: '' })).toMatchObject({
      code: 0,
      out: 'no decision is recorded yet\n',
    })
    expect((await ask(['log', '--denied'], { body: '' })).out).toBe('no denial is recorded yet\n')
    expect((await ask(['log', '--json'], { body: '' })).out).toBe('')
  })

  it.each(['0', '10001', 'x', '1.5', '-1'])('refuses the limit %s', async (limit) => {
    const result = await ask(['log', `--limit=${limit}`], { body: '' })

    expect(result).toMatchObject({ code: 2, out: '', urls: [] })
    expect(result.err).toContain('`--limit` must be a whole number from 1 to 10000')
  })

  it('exits with 1 when the agent refuses, answers otherwise, or does not run', async () => {
    const refused = await ask(['log'], envelope(429, 'limit_exceeded', 'too many'))
    const other = await ask(['log'], { body: '{"seq":1}\n' })
    const absent = await runCli(['log'], { env: { PALISADE_AGENT_SOCKET: '/nonexistent/a.sock' } })

    expect(refused).toMatchObject({ code: 1, err: 'error: too many\n' })
    expect(other).toMatchObject({ code: 1, out: '' })
    expect(absent).toMatchObject({ code: 1, out: '' })
  })

  it('ends quietly when its reader has gone', async () => {
    const stdout = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('EPIPE'), { code: 'EPIPE' }))
      },
    }).on('error', () => {})

    const result = await ask(['log', '--follow'], { body: formatLines(DENIAL) }, { stdout })

    expect(result).toMatchObject({ code: 0, err: '' })
  })
})

describe('palisade log --verify', () => {
  const INTACT: LogVerification = {
    intact: true,
    lines: 12,
    files: 1,
    lost: 0,
    faults: [],
    head: 'c'.repeat(64),
  }

  it('says that the chain holds, with its head', async () => {
    const result = await ask(['log', '--verify'], { body: INTACT })

    expect(result).toMatchObject({ code: 0, urls: ['/v1/log/verification'] })
    expect(result.out).toBe(`intact  12 records in 1 file\nhead ${'c'.repeat(64)}\n`)
    const json = await ask(['log', '--verify', '--json'], { body: INTACT })
    expect(JSON.parse(json.out)).toEqual(INTACT)
  })

  it('names faults, and exits with 1', async () => {
    const faults = [
      { file: '00000001.jsonl', line: 3, fault: 'broken_chain' },
      { file: '00000002.jsonl', line: 1, fault: 'unreadable' },
    ]

    const result = await ask(['log', '--verify'], {
      body: { ...INTACT, intact: false, lost: 4, faults },
    })

    expect(result.code).toBe(1)
    expect(result.out).toContain('damaged  12 records in 1 file, 4 lost and counted\n')
    expect(result.out).toContain('  00000001.jsonl, line 3: does not follow from the line before')
    expect(result.out).toContain('  00000002.jsonl, line 1: cannot be read')
  })

  it('does not go with options that choose records', async () => {
    for (const option of ['--follow', '--denied'])
      expect(await ask(['log', '--verify', option], { body: INTACT })).toMatchObject({ code: 2 })
  })
})
