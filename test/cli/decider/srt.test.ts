import { createDecider } from '@anthropic-ai/sandbox-runtime/dist/sandbox/decider-client.js'
import fc from 'fast-check'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf, type RuleLine } from '../../agent/fixture/bundle.ts'
import { startLocalApi } from '../../agent/fixture/local-api.ts'
import { runCli } from '../run-cli.ts'

const NAMES = { 'allowed.test': ['192.0.2.7'], 'inner.test': ['127.0.0.1'] }
const RULES: RuleLine = ['allow', 'connect:tcp', 'allowed.test', 'inner.test', '192.0.2.8']
const DOMAINS = ['allowed.test', '*.other.test', '192.0.2.8:443']

function startDecider(
  env: Readonly<Record<string, string>>,
  { stdin, stdout }: { stdin: Readable; stdout: NodeJS.WritableStream },
  domains: readonly string[] = DOMAINS,
) {
  const options = domains.flatMap((domain) => ['--domain', domain])
  return runCli(['decider', 'srt', ...options], { stdin, stdout: stdout as PassThrough, env })
}

/** The decider client of the package, connected to our decider. */
async function startClient(env: Readonly<Record<string, string>>) {
  const toUs = new PassThrough()
  const toThem = new PassThrough()
  const deaths: string[] = []
  const client = createDecider({
    input: toThem,
    output: toUs,
    // A loaded machine takes longer than the five seconds of the package.
    timeoutMs: 300_000,
    onDead: (why: string) => deaths.push(why),
  })
  const ended = startDecider(env, { stdin: toUs, stdout: toThem })
  onTestFinished(() => void toUs.end())
  await client.hello
  const ask = (
    url: string,
    headers: readonly string[] = [],
    more: { sni?: string; target?: { host: string; port: number } } = {},
  ) => client.filterRequest(new Request(url), { rawHeaders: [...headers], ...more })
  return { client, ask, deaths, ended, toUs }
}

async function startAgent() {
  const api = await startLocalApi(bundleOf(RULES), NAMES)
  return { ...api, env: { PALISADE_AGENT_SOCKET: api.socketPath } }
}

describe('palisade decider srt, asked by the real client', () => {
  it('allows and denies by host, port and address', async () => {
    const { env, resolved } = await startAgent()
    const { client, ask } = await startClient(env)

    expect(await client.hello).toEqual({
      t: 'hello',
      proto: 1,
      allowedDomains: DOMAINS,
      deniedDomains: [],
    })
    expect(await ask('https://allowed.test/a?b=1')).toMatchObject({ action: 'allow' })
    expect(await ask('https://192.0.2.8/')).toMatchObject({ action: 'allow' })
    expect(await ask('https://x.other.test/')).toMatchObject({
      action: 'deny',
      status: 403,
      reason: expect.stringContaining('connect:tcp x.other.test:443 denied, no rule allows it'),
    })
    expect(await ask('https://inner.test/')).toMatchObject({
      action: 'deny',
      reason: expect.stringContaining('protected'),
    })
    expect(await ask('https://[2001:db8::1]/')).toMatchObject({
      action: 'deny',
      reason: expect.stringContaining('[2001:db8::1]:443'),
    })
    expect(resolved).toEqual(['allowed.test', 'inner.test'])
  })

  it.each([
    ['the same Host header', ['Host', 'allowed.test'], {}, 'allow'],
    ['another spelling', ['Host', 'ALLOWED.test.:443'], { sni: 'Allowed.Test' }, 'allow'],
    ['another allowed Host header', ['Host', '192.0.2.8'], {}, 'allow'],
    ['a Host header that is not allowed', ['Host', 'x.other.test'], {}, 'deny'],
    ['a Host header with a path', ['Host', 'allowed.test/x'], {}, 'deny'],
    ['a Host header with a user part', ['Host', 'a@allowed.test'], {}, 'deny'],
    ['an empty Host header', ['Host', ''], {}, 'deny'],
    ['a server name that is not allowed', [], { sni: 'x.other.test' }, 'deny'],
    ['a server name that is no name', [], { sni: 'a..b' }, 'deny'],
  ])('answers a request with %s', async (_name, headers, more, action) => {
    const { env } = await startAgent()
    const { ask } = await startClient(env)

    expect(await ask('https://allowed.test/', headers, more)).toMatchObject({ action })
  })

  it('answers many requests at once, each with its own verdict', async () => {
    const { env } = await startAgent()
    const { ask, deaths } = await startClient(env)

    const verdicts = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        ask(at % 2 === 0 ? 'https://allowed.test/' : `https://x${at}.other.test/`),
      ),
    )

    expect(verdicts.map(({ action }) => action)).toEqual(
      verdicts.map((_, at) => (at % 2 === 0 ? 'allow' : 'deny')),
    )
    expect(deaths).toEqual([])
  })

  it('denies every request while no agent runs, and says how to start it', async () => {
    const { ask, deaths } = await startClient({ PALISADE_DATA_DIR: '/nonexistent' })

    expect(await ask('https://allowed.test/')).toMatchObject({
      action: 'deny',
      status: 503,
      reason: expect.stringContaining('palisade-agent start'),
    })
    expect(deaths).toEqual([])
  })

  it('ends with its input', async () => {
    const { env } = await startAgent()
    const { ended, toUs } = await startClient(env)

    toUs.end()

    expect(await ended).toMatchObject({ code: 0, err: '' })
  })
})

describe('palisade decider srt', () => {
  const frame = (value: unknown): Buffer => {
    const body = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(body.byteLength)
    return Buffer.concat([length, body])
  }
  const HELLO = { t: 'hello', proto: 1 }
  const req = (id: unknown, more: object = {}): object => ({
    t: 'req',
    id,
    method: 'GET',
    host: 'allowed.test',
    port: 443,
    path: '/',
    ...more,
  })
  const talk = async (env: Readonly<Record<string, string>>, bytes: readonly Buffer[]) => {
    const stdout = new PassThrough()
    const run = await startDecider(env, { stdin: Readable.from(bytes), stdout })
    stdout.end()
    const out = await buffer(stdout)
    const messages: Record<string, unknown>[] = []
    for (let at = 0; at < out.byteLength; at += 4 + out.readUInt32BE(at))
      messages.push(
        JSON.parse(out.toString('utf8', at + 4, at + 4 + out.readUInt32BE(at))) as never,
      )
    return { ...run, messages }
  }

  it('reads frames in whatever pieces they arrive', async () => {
    const { env } = await startAgent()
    const bytes = Buffer.concat([frame(HELLO), frame(req(1)), frame(req(2, { host: 'x.test' }))])

    const { messages, code } = await talk(
      env,
      Array.from(bytes, (byte) => Buffer.from([byte])),
    )

    expect(code).toBe(0)
    expect(messages).toHaveLength(3)
    expect(messages).toContainEqual({ t: 'verdict', id: 1, action: 'allow' })
    expect(messages).toContainEqual(expect.objectContaining({ id: 2, action: 'deny', status: 403 }))
  })

  it.each<[string, object]>([
    ['no host', { host: undefined }],
    ['a host that is no text', { host: 7 }],
    ['a port that is no number', { port: '443' }],
    ['a port out of range', { port: 65_536 }],
    ['an unknown member', { tunnel: true }],
    ['a server name that is no text', { sni: ['allowed.test'] }],
    ['a Host header that is no text', { hostHeader: null }],
    ['an empty host', { host: '' }],
  ])('denies a request with %s, and goes on', async (_name, more) => {
    const { env } = await startAgent()

    const { messages, code } = await talk(env, [
      Buffer.concat([frame(HELLO), frame(req(1, more)), frame(req(2))]),
    ])

    expect(code).toBe(0)
    expect(messages).toContainEqual(expect.objectContaining({ id: 1, action: 'deny' }))
    expect(messages).toContainEqual({ t: 'verdict', id: 2, action: 'allow' })
  })

  it.each<[string, readonly Buffer[], number]>([
    ['another version', [frame({ t: 'hello', proto: 2 })], 0],
    ['a request before the hello', [frame(req(1))], 0],
    ['a hello with more', [frame({ ...HELLO, features: [] })], 0],
    ['an unknown message', [frame(HELLO), frame({ t: 'ping', id: 1 })], 1],
    ['a body that was not asked for', [frame(HELLO), frame({ t: 'body', id: 1, data: '' })], 1],
    ['an id that does not increase', [frame(HELLO), frame(req(2)), frame(req(2))], 2],
    ['an id that is no number', [frame(HELLO), frame(req('1'))], 1],
    ['no JSON', [frame(HELLO), frame(Buffer.from('{'))], 1],
    ['no object', [frame(HELLO), frame([])], 1],
    ['a member twice', [frame(HELLO), frame(Buffer.from('{"t":"req","id":1,"id":2}'))], 1],
    ['no UTF-8', [frame(HELLO), frame(Buffer.from([0x22, 0xff, 0x22]))], 1],
    ['an oversized frame', [frame(HELLO), Buffer.from([0x7f, 0xff, 0xff, 0xff])], 1],
    ['an unfinished frame', [frame(HELLO), frame(req(1)).subarray(0, 20)], 1],
  ])('ends the stream after %s, so that srt refuses all', async (_name, bytes, answers) => {
    const { env } = await startAgent()

    const { messages, code, err } = await talk(env, bytes)

    expect(code).toBe(1)
    expect(err).toMatch(/^error: srt: .+\n$/)
    expect(messages.slice(1)).toHaveLength(Math.max(0, answers - 1))
  })

  it('allows nothing in any bytes, and prints no stack', async () => {
    const { env } = await startAgent()
    const anyFrame = fc.oneof(
      fc.json().map((json) => frame(Buffer.from(json))),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => frame(Buffer.from(bytes))),
    )
    const law = fc.asyncProperty(fc.array(anyFrame, { maxLength: 5 }), async (frames) => {
      const { messages, err } = await talk(env, [frame(HELLO), ...frames])

      expect(messages.filter(({ action }) => action === 'allow')).toEqual([])
      expect(err).not.toMatch(/\n\s+at /)
    })
    await fc.assert(law, { numRuns: 60 })
  })

  it.each(['example.com/x', '*', '*.com', 'a..b', 'https://x.test', '**.x.test', '10.0.0.0/8'])(
    'refuses the list entry %s, at which srt would end the stream',
    async (domain) => {
      const run = await runCli(['decider', 'srt', '--domain', domain])

      expect(run).toMatchObject({ code: 2, out: '' })
      expect(run.err).toContain(`\`${domain}\` is no host for srt`)
    },
  )

  it('wants a list', async () => {
    expect((await runCli(['decider', 'srt'])).err).toContain('--domain')
  })
})
