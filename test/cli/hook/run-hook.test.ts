import fc from 'fast-check'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { HOOK_FORMATS } from '../../../packages/cli/src/hook/formats/hook-formats.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { HOST_FORMS } from './hosts.ts'
import { casesOf, startScene } from './hook-scene.ts'

const HOSTS = HOOK_FORMATS.map(({ host }) => host)

describe.each(HOSTS)('palisade hook %s', (host) => {
  const form = HOST_FORMS[host]

  it.each(casesOf(host, '$WORK').map(({ title, verdict }, index) => ({ title, verdict, index })))(
    'answers $verdict when the agent $title',
    async ({ index }) => {
      const { work, hook } = await startScene()
      const { input, verdict, because = '' } = casesOf(host, work)[index] ?? {}

      const run = await hook(host, JSON.stringify(input))

      expect(form?.passed(run)).toBe(verdict === 'pass')
      expect(form?.denied(run) ?? '').toContain(because)
      expect(form?.denied(run) === null).toBe(verdict === 'pass')
    },
  )

  it('tells an automated client not to retry, and whom to ask', async () => {
    const { work, hook } = await startScene()
    const denied = casesOf(host, work).find(({ because }) => because?.startsWith('write ') === true)

    const reason = form?.denied(await hook(host, JSON.stringify(denied?.input)))

    expect(reason).toMatch(/^Palisade: write \S+ denied, no rule allows it \(default_deny\)\. /)
    expect(reason).toContain('Do not retry')
    expect(reason).toMatch(/ask an editor of the organization to add: allow write \S+\. /)
    expect(reason).toMatch(/ Ask in #net\. Details: palisade explain write \S+$/)
  })

  it('denies decided calls when no agent runs, and says how to start it', async () => {
    const { work } = await startScene()
    const { input } = casesOf(host, work)[0] ?? {}
    const env = { PALISADE_DATA_DIR: join(work, 'nothing') }

    const run = await runCli(['hook', host], { stdin: JSON.stringify(input), env })

    expect(form?.denied(run)).toContain('it is not running')
    expect(form?.denied(run)).toContain('palisade-agent start')
  })

  const anyJson = fc.json({ maxDepth: 4 })
  const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))
  it('denies every input that is no event, and prints no stack', async () => {
    const { hook } = await startScene()
    const law = fc.asyncProperty(fc.oneof(anyBytes, anyJson), async (input) => {
      const run = await hook(host, input)

      expect(form?.passed(run)).toBe(false)
      expect(form?.denied(run)).toMatch(/^Palisade: denied, /)
      expect(run.out + run.err).not.toMatch(/\n\s+at /)
    })
    await fc.assert(law, { numRuns: 60 })
  })

  const mutation = fc.record({ at: fc.nat(), value: fc.jsonValue({ maxDepth: 2 }) })
  it('answers every damaged event in the form of the host', async () => {
    const { work, hook } = await startScene()
    const cases = casesOf(host, work).filter(({ verdict }) => verdict === 'deny')
    const law = fc.asyncProperty(
      fc.constantFrom(...cases),
      mutation,
      async (one, { at, value }) => {
        const names = Object.keys(one.input)
        const name = names[at % names.length] ?? ''
        const run = await hook(host, JSON.stringify({ ...one.input, [name]: value }))

        expect(form?.passed(run) === true || form?.denied(run) !== null).toBe(true)
        expect(run.out + run.err).not.toMatch(/\n\s+at /)
      },
    )
    await fc.assert(law, { numRuns: 60 })
  })
})

describe('palisade hook', () => {
  it('decides all paths of a call in one exchange', async () => {
    const { work, hook, connections } = await startScene()
    const files = Array.from({ length: 200 }, (_, at) => `*** Add File: out/${at}.txt\n+x`)
    const command = `*** Begin Patch\n${files.join('\n')}\n*** End Patch\n`
    const input = {
      hook_event_name: 'PreToolUse',
      cwd: work,
      tool_name: 'apply_patch',
      tool_input: { command },
    }

    expect(await hook('codex', JSON.stringify(input))).toEqual({ code: 0, out: '', err: '' })
    expect(connections()).toBe(1)
  })

  it('denies a call with more paths than one exchange holds', async () => {
    const { work, hook } = await startScene()
    const files = Array.from({ length: 1_001 }, (_, at) => `*** Add File: out/${at}.txt`)
    const input = {
      hook_event_name: 'PreToolUse',
      cwd: work,
      tool_name: 'apply_patch',
      tool_input: { command: files.join('\n') },
    }

    const run = await hook('codex', JSON.stringify(input))

    expect(HOST_FORMS['codex']?.denied(run)).toContain('more than 1000 requests')
  })

  it.each([
    ['an absolute path', '/etc/hostname'],
    ['a path upwards', '../../../../etc/hostname'],
    ['a link in the middle', 'link/hostname'],
    ['a path upwards from the end of a link', 'link/../etc/hostname'],
    ['a loop of links', 'loop'],
    ['a path below a file', 'a.txt/x'],
    ['the home directory', '~/key'],
    ['the home directory itself', '~'],
    ['an empty path', ''],
  ])('denies to read %s', async (_name, path) => {
    const { read } = await startScene()

    expect(HOST_FORMS['claude']?.denied(await read(path))).toContain('Palisade: ')
  })

  it.each([
    ['a list of addresses', 'claude', { url: ['https://evil.test/'] }],
    ['an address in an object', 'codex', { url: { href: 'https://evil.test/' } }],
    ['a list of arguments', 'claude', ['https://evil.test/']],
    ['arguments that are no JSON', 'cursor', '{"url":"https://evil.test/"'],
  ])('denies a tool of an MCP server with %s', async (_name, host, tool_input) => {
    const { work, hook } = await startScene()
    const tool = host === 'cursor' ? 'MCP:fetch' : 'mcp__web__fetch'
    const event = host === 'cursor' ? 'preToolUse' : 'PreToolUse'
    const input = { hook_event_name: event, cwd: work, tool_name: tool, tool_input }

    const run = await hook(host, JSON.stringify(input))

    expect(HOST_FORMS[host]?.denied(run)).toMatch(/has (?:no text `url`|arguments that are no obj)/)
  })

  it.each([
    ['web_fetch', { prompt: ['read https://evil.test/'], url: 'https://allowed.test/' }],
    ['web_fetch', { prompt: 'read https://allowed.test/', url: ['https://evil.test/'] }],
    ['read_many_files', { include: ['a.txt'], paths: '/etc/passwd' }],
    ['read_many_files', { include: ['a.txt'], paths: ['/etc/passwd'] }],
  ])('denies %s of Gemini CLI with %j, of which the host may read any', async (tool, args) => {
    const { work, hook } = await startScene()
    const event = { hook_event_name: 'BeforeTool', cwd: work, tool_name: tool, tool_input: args }

    const run = await hook('gemini', JSON.stringify(event))

    expect(HOST_FORMS['gemini']?.denied(run)).toMatch(/^Palisade: /)
  })

  it('has no opinion on a tool of an MCP server without arguments or with other ones', async () => {
    const { hook } = await startScene()
    for (const tool_input of [undefined, null, {}, { url: null }, { uri: 7 }, { url: 'db:x' }]) {
      const event = { hook_event_name: 'PreToolUse', tool_name: 'mcp__db__query', tool_input }
      expect(HOST_FORMS['claude']?.passed(await hook('claude', JSON.stringify(event)))).toBe(true)
    }
  })

  it('reads a link upwards as the kernel does, and as a program normalizes it', async () => {
    const { work, read } = await startScene()
    // For a program this is `a.txt`, for the kernel a file beside the link's target.
    const run = await read(`${work}/link/../a.txt`)

    expect(HOST_FORMS['claude']?.denied(run)).toContain('read /a.txt')
  })

  it.each([
    ['a file', 'a.txt'],
    ['a file that does not exist', 'none/of/these'],
    ['the directory itself', '.'],
    ['a detour', 'out/../a.txt'],
    ['a tilde in a name', 'a~b'],
  ])('passes a read of %s', async (_name, path) => {
    const { read } = await startScene()

    expect(await read(path)).toEqual({ code: 0, out: '', err: '' })
  })

  it('passes a read of the home directory where both readings are allowed', async () => {
    const { work, read } = await startScene()

    expect(await read('~/a.txt', work)).toEqual({ code: 0, out: '', err: '' })
  })

  it('resolves an allowed name once, and no other name', async () => {
    const { hook, resolved } = await startScene()
    const fetch = (url: string): Promise<CliRun> =>
      hook(
        'copilot',
        JSON.stringify({ cwd: '/', toolName: 'web_fetch', toolArgs: JSON.stringify({ url }) }),
      )

    await fetch('https://allowed.test/')
    await fetch('https://other.test/')

    expect(resolved).toEqual(['allowed.test'])
  })

  it('denies a name in its text without characters that move the terminal', async () => {
    const { read } = await startScene()

    const reason = HOST_FORMS['claude']?.denied(await read('/etc/\u001b[2J\u202e\nx'))

    for (const active of ['\u001b', '\u202e', '\n']) expect(reason).not.toContain(active)
    expect(reason?.length).toBeLessThan(3_000)
  })

  it('denies when the input does not end in five seconds', async () => {
    const { hook } = await startScene()
    const limit = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(limit.signal)
    onTestFinished(() => timeout.mockRestore())
    const endless = new Readable({ read: () => undefined })
    endless.push('{"hook_event_name":')

    const answer = hook('claude', endless)
    await expect.poll(() => timeout.mock.calls[0]).toEqual([5_000])
    limit.abort()

    expect(HOST_FORMS['claude']?.denied(await answer)).toContain('no JSON object')
  })

  it('refuses an unknown host with the status that denies', async () => {
    const run = await runCli(['hook', 'vim'])

    expect(run).toMatchObject({ code: 2, out: '' })
    expect(run.err).toContain('`claude`')
  })

  it('shows the file and the text that install it for every host', async () => {
    const env = { PALISADE_DATA_DIR: '/data' }
    const all = await runCli(['hook', '--help'], { env })

    for (const host of HOSTS) {
      const { out, code } = await runCli(['hook', host, '--help'], { env })
      expect(code).toBe(0)
      expect(out.split('\n').length).toBeLessThan(60)
      expect(all.out).toContain(`palisade hook ${host} --help`)
      const { snippet, file } = HOOK_FORMATS.find((each) => each.host === host) ?? {}
      const text = snippet?.(`PALISADE_DATA_DIR=/data palisade hook ${host}`) ?? ''
      expect(out).toContain(file)
      expect(out).toContain(text)
      expect(() => void JSON.parse(text)).not.toThrow()
    }
  })
})
