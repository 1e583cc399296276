import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { startTcpServer } from '../../agent/fixture/proxy.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { startMachine, type Machine } from './machine.ts'

/** Runs the command line as a process of its own. */
async function palisade(
  { env, cwd }: Machine,
  argv: readonly string[],
  act: (pid: number) => void = () => {},
): Promise<CliRun> {
  const child = spawn(process.execPath, [...BUILT_CLI, ...argv], { env, cwd })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (child.pid !== undefined) act(child.pid)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end()
  const [code] = await once(child, 'close')
  return { code: Number(code), out, err }
}

function https(url: string): string {
  return url.replace('http:', 'https:')
}

function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined
}

describe('programs with the environment of `palisade env`', () => {
  let machine: Machine
  beforeEach(async () => {
    machine = await startMachine()
  })

  it('are set up by a shell, and set back', async () => {
    const { code, out } = await runCli(['env'], machine)
    const { out: json } = await runCli(['env', '--json'], machine)
    const undo = await runCli(['env', '--unset'], { env: JSON.parse(json) })

    const show = 'printf "%s %s" "$http_proxy" "$NO_PROXY"'
    const shell = (script: string) => {
      const options = { encoding: 'utf8', env: { PATH: process.env['PATH'] } } as const
      return spawnSync('sh', ['-c', script], options).stdout
    }
    const url = `http://127.0.0.1:${machine.proxy.port}`
    expect(code).toBe(0)
    expect(shell(`${out}${show}`)).toBe(`${url} localhost,127.0.0.1,0.0.0.0,::1`)
    expect(shell(`${out}${undo.out}env`)).not.toMatch(/proxy/i)
    expect(JSON.parse(json)).toMatchObject({ HTTPS_PROXY: url })
  })

  it.each<[string, (url: string) => readonly string[]]>([
    ['curl', (url) => ['curl', '-sS', '--max-time', '60', '--fail', url]],
    ['wget', (url) => ['wget', '-qO-', '--timeout=60', '--tries=1', url]],
    ['git', (url) => ['git', 'ls-remote', url]],
    ['npm', (url) => ['npm', 'ping', '--fetch-retries=0', `--registry=${url}`]],
    [
      'pip',
      // pip trusts an index without TLS only by name.
      (url) => `pip download --retries=0 --no-deps --index-url=${https(url)} x`.split(' '),
    ],
    [
      'node',
      (url) => [
        'node',
        '-e',
        `fetch('${url}').then(async (r) => { if (!r.ok) throw new Error(await r.text()) })`,
      ],
    ],
    [
      'python3',
      (url) => ['python3', '-c', `import urllib.request as r; r.urlopen('${url}', timeout=60)`],
    ],
  ])(
    'ask the proxy: %s',
    async (name, command) => {
      if (!hasProgram(name)) return
      const { proxy, port } = machine

      await palisade(machine, ['exec', '--', ...command(`http://good.test:${port}/`)])
      const denied = await palisade(machine, ['exec', '--', ...command('http://bad.test/')])

      expect(proxy.decisions).toContainEqual(
        expect.objectContaining({
          decision: 'allow',
          request: expect.objectContaining({ host: 'good.test', address: '127.0.0.1' }),
        }),
      )
      const bad = { decision: 'deny', request: expect.objectContaining({ host: 'bad.test' }) }
      expect(proxy.decisions).toContainEqual(expect.objectContaining(bad))
      expect(proxy.resolved).not.toContain('bad.test')
      expect(denied.code).not.toBe(0)
      const line = /\bpalisade: \d+ denied: (\S+)(?: \(\d\))? – palisade request (\S+)\n$/
      const [, named = '', asked] = line.exec(denied.err) ?? []
      expect(named).toMatch(/^bad\.test:(?:80|443)$/)
      expect(asked).toBe(named)
    },
    120_000,
  )

  it('reach their own servers on loopback without the proxy', async () => {
    if (!hasProgram('curl')) return
    const { proxy, port } = machine

    const url = `http://localhost:${port}/x`
    const { out } = await palisade(machine, ['exec', '--', 'curl', '-sS', url])

    expect(out).toBe('127.0.0.1 /x')
    expect(proxy.decisions).toEqual([])
  })

  it('use the proxy for ssh through git, and print why it is denied', async () => {
    if (!hasProgram('git') || spawnSync('ssh', ['-V']).error !== undefined) return
    const { proxy } = machine
    const port = await startTcpServer((socket) => socket.end('not an ssh server\r\n'))

    const clone = (host: string) =>
      palisade(machine, ['exec', '--', 'git', 'ls-remote', `ssh://git@${host}:${port}/x`])
    await clone('good.test')
    const denied = await clone('bad.test')

    expect(proxy.decisions).toMatchObject([
      { decision: 'allow', request: { host: 'good.test', port } },
      { decision: 'deny', request: { host: 'bad.test', port } },
    ])
    expect(denied.err).toContain(`bad.test:${port} denied, no rule allows it`)
  })
})

describe('palisade exec', () => {
  it('ends with the exit code of the command, or the codes of a shell', async () => {
    const machine = await startMachine()
    await writeFile(join(machine.cwd, 'text'), '')
    const run = (...command: string[]) => palisade(machine, ['exec', '--', ...command])

    expect(await run('sh', '-c', 'exit 7')).toEqual({ code: 7, out: '', err: '' })
    expect((await run('sh', '-c', 'kill -9 $$')).code).toBe(137)
    expect(await run('./none')).toMatchObject({ code: 127, err: /no such command/ })
    expect((await run('./text')).code).toBe(126)
    expect((await palisade(machine, ['exec'])).code).toBe(2)
  })

  it('passes signals on and arguments unchanged', async () => {
    const machine = await startMachine()
    const script = `trap 'echo "$1"; exit 3' TERM; echo ready; while :; do sleep 0.1; done`
    let isSent = false

    const { code, out } = await palisade(
      machine,
      ['exec', '--', 'sh', '-c', script, 'sh', '--json "$x"'],
      (pid) => {
        if (!isSent) process.kill(pid, 'SIGTERM')
        isSent = true
      },
    )

    expect({ code, out }).toEqual({ code: 3, out: 'ready\n--json "$x"\n' })
  })

  it('runs no command without an agent', async () => {
    const machine = await startMachine()
    const env = { ...machine.env, PALISADE_AGENT_SOCKET: join(machine.cwd, 'none.sock') }

    const { code, out } = await palisade({ ...machine, env }, ['exec', '--', 'echo', 'ran'])

    expect({ code, out }).toEqual({ code: 1, out: '' })
  })

  it('hides the project and the silence of `npm run -s palisade` from the command', async () => {
    const machine = await startMachine()
    const npm = {
      npm_lifecycle_event: 'palisade',
      npm_config_local_prefix: '/checkout',
      npm_config_loglevel: 'silent',
    }
    const names = '${npm_config_local_prefix-none} ${npm_config_loglevel-none}'
    const print = ['exec', '--', 'sh', '-c', `echo "${names}"`]

    const inScript = await palisade({ ...machine, env: { ...machine.env, ...npm } }, print)
    const other = { ...npm, npm_lifecycle_event: 'test' }
    const elsewhere = await palisade({ ...machine, env: { ...machine.env, ...other } }, print)

    expect(inScript.out).toBe('none none\n')
    expect(elsewhere.out).toBe('/checkout silent\n')
  })
})
