import fc from 'fast-check'
import { compilePolicy, decide } from '@palisade/policy-core'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { MAX_LINE_BYTES } from '../../../packages/cli/src/check/batch.ts'
import { envelope, startLoopbackServer } from '../../client/loopback-server.ts'
import { POLICY_FILE } from '../policy-fixture.ts'
import { runCli, type CliRun, type CliSetting } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const ALLOWED = '{"action":"read","path":"/home/dev/work/x"}'
const DENIED = '{"action":"read","path":"/etc/shadow"}'

async function batch(stdin: CliSetting['stdin'], setting: CliSetting = {}): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  const file = await directory.write('policies.json', POLICY_FILE)
  const argv = ['check', '--policies', file, '--batch', '-']
  return await runCli(argv, { cwd: directory.path, ...setting, stdin: stdin ?? '' })
}

function outcomes(out: string): string[] {
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const { decision, reason } = JSON.parse(line) as { decision: string; reason: string }
      return `${decision} ${reason}`
    })
}

describe('palisade check --batch', () => {
  it('answers line by line, in order, with exit 0', async () => {
    const result = await batch(`${ALLOWED}\n${DENIED}\r\n${ALLOWED}`)

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(outcomes(result.out)).toEqual(['allow rule', 'deny default_deny', 'allow rule'])
  })

  it('says that it waits for lines when a person has to type them', async () => {
    const terminal = Object.assign(Readable.from([Buffer.from(`${ALLOWED}\n`)]), { isTTY: true })

    const { code, out, err } = await batch(terminal)

    expect([code, outcomes(out)]).toEqual([0, ['allow rule']])
    expect(err).toBe(
      'reading requests from the terminal, one JSON object a line; Ctrl-D ends the input\n',
    )
  })

  it('answers a line as long as the agent takes', async () => {
    const { out } = await batch(`${ALLOWED}${' '.repeat(65_536 - ALLOWED.length)}\n`)

    expect(outcomes(out)).toEqual(['allow rule'])
  })

  it.each<[string, string | Buffer]>([
    ['blank', ''],
    ['white space', ' \t '],
    ['not JSON', 'nonsense'],
    ['an array', `[${ALLOWED}]`],
    ['null', 'null'],
    ['a string', '"read"'],
    ['two objects', `${ALLOWED}${ALLOWED}`],
    ['a member that stands twice', '{"action":"read","path":"/etc/x","path":"/home/dev/work/x"}'],
    ['a byte order mark', `\ufeff${ALLOWED}`],
    ['nested too deep', '['.repeat(5000)],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['too long', ALLOWED.replace('x"', `${'x'.repeat(MAX_LINE_BYTES)}"`)],
    ['padded beyond the limit', `${ALLOWED}${' '.repeat(MAX_LINE_BYTES)}`],
  ])('answers a line that is %s as an invalid request and stays aligned', async (_name, line) => {
    const bytes = Buffer.concat([
      Buffer.from(`${ALLOWED}\n`),
      Buffer.from(line),
      Buffer.from(`\n${DENIED}\n`),
    ])

    const result = await batch(bytes)

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(outcomes(result.out)).toEqual([
      'allow rule',
      'deny invalid_request',
      'deny default_deny',
    ])
  })

  const compiled = compilePolicy(POLICY_FILE as Parameters<typeof compilePolicy>[0])
  const anyLine = fc.oneof(
    fc.constantFrom(ALLOWED, DENIED, '', '{}', 'null'),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.string().map((text) => text.replaceAll('\n', '')),
    fc
      .record({
        action: fc.constantFrom('connect:tcp', 'read', 'x'),
        host: fc.constantFrom('api.example.com', 'bad.example.com', '192.0.2.1', '::1'),
        port: fc.constantFrom(443, 80, -1, 1e21),
        path: fc.constantFrom('/home/dev/work/x', '/x', '..'),
      })
      .map((value) => JSON.stringify(value)),
  )
  it('answers line N of the input with decide(line N)', async () => {
    const law = fc.asyncProperty(fc.array(anyLine, { maxLength: 20 }), async (lines) => {
      const result = await batch(lines.map((line) => `${line}\n`).join(''))

      const answers = result.out.split('\n').slice(0, -1)
      expect(answers).toHaveLength(lines.length)
      expect(answers.map((answer) => JSON.parse(answer) as unknown)).toEqual(
        lines.map((line) => JSON.parse(JSON.stringify(decide(compiled, parsed(line)))) as unknown),
      )
    })
    await fc.assert(law, { numRuns: 50 })
  })

  it('answers before the input has ended', async () => {
    const stdin = new Readable({ read: () => undefined })
    let answered: () => void = () => undefined
    const firstAnswer = new Promise<void>((resolve) => (answered = resolve))
    const stdout = new Writable({
      write(_chunk, _encoding, done) {
        answered()
        done()
      },
    })

    const run = batch(stdin, { stdout })
    stdin.push(`${ALLOWED}\n`)
    await firstAnswer
    stdin.push(null)

    expect((await run).code).toBe(0)
  })

  it('answers a chunk of many short lines in several writes', async () => {
    const lines = 5_000
    const sizes: number[] = []
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        sizes.push(chunk.byteLength)
        done()
      },
    })

    expect((await batch('\n'.repeat(lines), { stdout })).code).toBe(0)

    expect(sizes.length).toBeGreaterThan(1)
    expect(Math.max(...sizes)).toBeLessThan(512 * 1024)
  })

  it('ends without an error when the reader of the answers has gone', async () => {
    let writes = 0
    const stdout = new Writable({
      write(_chunk, _encoding, done) {
        writes += 1
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      },
    })
    stdout.on('error', () => undefined)
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.from(`${ALLOWED}\n`)
      })(),
    )

    const result = await batch(endless, { stdout })

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(writes).toBe(1)
    expect(endless.destroyed).toBe(true)
  })

  it('fails when the answers cannot be written', async () => {
    const stdout = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('full'), { code: 'ENOSPC' }))
      },
    })
    stdout.on('error', () => undefined)

    const result = await batch(`${ALLOWED}\n`, { stdout })

    expect(result.code).toBe(2)
    expect(result.err).toBe('error: cannot write the answer: no space left on the device\n')
  })

  it('reads the requests of a file, and names a file that it cannot read', async () => {
    await using directory = await temporaryDirectory()
    const file = await directory.write('policies.json', POLICY_FILE)
    await directory.write('requests.ndjson', `${ALLOWED}\n`)
    await mkdir(join(directory.path, 'folder'))
    const at = (name: string): Promise<CliRun> =>
      runCli(['check', '--policies', file, '--batch', name], { cwd: directory.path })

    expect(outcomes((await at('requests.ndjson')).out)).toEqual(['allow rule'])
    expect(await at('missing')).toEqual({
      code: 2,
      out: '',
      err: 'error: missing: no such file or directory\n',
    })
    expect(await at('folder')).toMatchObject({ code: 2, err: 'error: folder: is a directory\n' })
  })

  it('asks the agent in batches, and exits with 2 when the agent fails in between', async () => {
    await using directory = await temporaryDirectory()
    const socket = join(directory.path, 'agent.sock')
    const decision = {
      decision: 'deny',
      reason: 'no_policy',
      rules: [],
      request: null,
      revision: null,
      stale: false,
      hint: null,
    }
    const answers = (body: string): string =>
      `${JSON.stringify(decision)}\n`.repeat(body.split('\n').length - 1)
    await using agent = await startLoopbackServer(
      ({ body }, count) => (count < 2 ? { body: answers(body) } : envelope(500, 'internal')),
      socket,
    )
    const many = `${DENIED}\n`.repeat(998)

    const result = await runCli(['check', '--batch', '-'], {
      env: { PALISADE_AGENT_SOCKET: socket },
      stdin: `${ALLOWED}\nnonsense\n${many}${DENIED}\n`,
    })

    expect(agent.seen.map((request) => request.headers['content-type'])).toEqual([
      'application/x-ndjson',
      'application/x-ndjson',
    ])
    expect(agent.seen.map((request) => request.body)).toEqual([
      `${ALLOWED}\nnull\n${many}`,
      `${DENIED}\n`,
    ])
    expect(result.code).toBe(2)
    expect(outcomes(result.out)).toEqual(Array.from({ length: 1_000 }, () => 'deny no_policy'))
  })
})

function parsed(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line)
    return value
  } catch {
    return null
  }
}
