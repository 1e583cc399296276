import { agentStatusSchema } from '@palisade/protocol'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BUILT_AGENT } from '../built-programs.ts'
import { askAgent } from './fixture/local-request.ts'
import { DEVICE_TOKEN } from './fixture/policy-server.ts'
import { exchangeRaw, get, startOrigin } from './fixture/proxy.ts'
import { temporaryDirectory } from './fixture/temporary-directory.ts'
import { serve } from './fixture/view-repository.ts'
import { enrolledMachine, runAgent, signNow, waitForState } from './fixture/agent-process.ts'

describe('palisade-agent start', () => {
  it('enforces the fetched bundle, offline too, and stops on SIGTERM', async () => {
    const machine = await enrolledMachine()
    const { env, server, socketPath, dataDir } = machine
    const origin = await startOrigin()
    server.answer = serve(signNow(machine, 7, ['allow', 'connect:tcp', '127.0.0.1']))
    const first = runAgent(['start'], env)
    const port = Number(new URL(await waitForState(socketPath, 'fresh')).port)
    expect((await exchangeRaw(port, get(`127.0.0.1:${origin.port}`))).status).toBe(200)
    expect((await exchangeRaw(port, get(`127.0.0.2:${origin.port}`))).status).toBe(403)
    expect((await stat(join(dataDir, 'agent'))).mode & 0o777).toBe(0o700)

    server.answer = serve(signNow(machine, 8, ['deny', 'connect:tcp', '127.0.0.1']))
    expect((await askAgent(socketPath, 'POST', '/v1/sync')).body).toEqual({
      outcome: 'updated',
      revision: 8,
      error: null,
      in_force: { state: 'fresh', revision: 8 },
    })
    expect((await exchangeRaw(port, get(`127.0.0.1:${origin.port}`))).status).toBe(403)

    first.child.kill('SIGTERM')
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' })
    expect((await readdir(join(dataDir, 'agent'))).toSorted()).toEqual([
      'enrolment.json',
      'enrolment.json.key',
      'policy',
      'records',
    ])

    server.answer = (_request, response) => response.destroy()
    const second = runAgent(['start'], env)
    await waitForState(socketPath, 'fresh')
    const request = '{"action":"connect:tcp","host":"127.0.0.1","port":443}'
    expect((await askAgent(socketPath, 'POST', '/v1/decide', request)).body).toMatchObject({
      reason: 'rule',
      revision: 8,
    })
    const readStatus = async () => (await askAgent(socketPath, 'GET', '/v1/status')).body
    await expect.poll(readStatus, { timeout: 300_000, interval: 50 }).toMatchObject({
      bundle: { source: 'cache' },
      sync: { last_error: { code: 'unreachable' } },
    })
    second.child.kill('SIGINT')
    const ended = await second.ended
    expect(ended.code).toBe(0)
    expect(ended.stdout).not.toContain(DEVICE_TOKEN)
  })

  it('continues and stops in order when its log cannot be written', async () => {
    const machine = await enrolledMachine()
    const { env, socketPath, server } = machine
    server.answer = serve(signNow(machine, 7, ['allow', 'read', '/**']))
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [...BUILT_AGENT, 'start'], {
      env,
      stdio: ['ignore', full, 'pipe'],
    })
    closeSync(full)
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    let stderr = ''
    child.stderr?.on('data', (text: Buffer) => (stderr += text.toString()))
    await waitForState(socketPath, 'fresh')

    const closed = once(child, 'close')
    child.kill('SIGTERM')

    expect((await closed)[0]).toBe(0)
    expect(stderr).toBe('')
  })

  it('asks its server directly, whatever proxy the environment names', async () => {
    const machine = await enrolledMachine()
    const { env, socketPath, server } = machine
    server.answer = serve(signNow(machine, 7))
    const proxy = 'http://127.0.0.1:9'
    const { child, ended } = runAgent(['start'], {
      ...env,
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      no_proxy: 'example.com',
    })

    await waitForState(socketPath, 'fresh')

    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })

  it('reports a tampered cache and denies', async () => {
    const machine = await enrolledMachine()
    const { env, socketPath, dataDir } = machine
    await mkdir(join(dataDir, 'agent', 'policy'), { mode: 0o700 })
    const file = join(dataDir, 'agent', 'policy', 'state.json')
    await writeFile(file, '{"sum":"","state":"{}"}', { mode: 0o600 })
    const { child, ended } = runAgent(['start'], env)
    await waitForState(socketPath, 'corrupt')

    const { body } = await askAgent(socketPath, 'GET', '/v1/status')
    const decision = await askAgent(
      socketPath,
      'POST',
      '/v1/decide',
      '{"action":"read","path":"/x"}',
    )

    const { cache_problem: problem } = agentStatusSchema.parse(body)
    expect(problem?.file).toContain('state.json.rejected-')
    expect(await readFile(problem?.file ?? '', 'utf8')).toContain('sum')
    expect(decision.body).toMatchObject({ decision: 'deny', reason: 'no_policy' })
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })

  it('exits with 78 and one line when the token file is open to others', async () => {
    const { env, dataDir, repository } = await enrolledMachine()
    const path = join(dataDir, 'open.json')
    await writeFile(path, JSON.stringify(repository.enrolment), { mode: 0o644 })

    const { code, stderr } = await runAgent(['start'], { ...env, PALISADE_ENROLMENT: path }).ended

    expect(code).toBe(78)
    expect(stderr).toBe(
      `palisade-agent: enrolment file ${path}: is open to other users; run \`chmod 600\` on it\n`,
    )
  })

  it('prints its version for the subcommand too', async () => {
    const verb = await runAgent(['version'], {}).ended

    expect(verb).toMatchObject({ code: 0, stderr: '' })
    expect(verb.stdout).toBe((await runAgent(['--version'], {}).ended).stdout)
  })

  it('prints no control characters from an invalid file', async () => {
    const { env, dataDir } = await enrolledMachine()
    const path = join(dataDir, 'local.json')
    await writeFile(path, JSON.stringify({ local: [{ name: '\u001B[2J\nforged line' }] }))

    const { code, stderr } = await runAgent(['start'], { ...env, PALISADE_LOCAL_POLICIES: path })
      .ended

    expect(code).toBe(78)
    expect(stderr).toContain('policy `\\u{1b}[2J\\u{a}forged line`')
    expect(stderr).not.toMatch(/[^\P{Cc}\n]/u)
  })

  it('creates no files when the token file is missing', async () => {
    const directory = await temporaryDirectory()

    const { code, stderr } = await runAgent(['start'], {}, directory).ended

    expect(code).toBe(78)
    expect(stderr).toContain('does not exist')
    expect(await readdir(directory)).toEqual([])
  })

  it('exits with 78 and a line for every invalid setting', async () => {
    const env = { PALISADE_PROXY_PORT: 'x', PALISADE_LOG_LEVEL: 'x' }

    const { code, stderr } = await runAgent(['start'], env).ended

    expect(code).toBe(78)
    expect(stderr.trimEnd().split('\n')).toHaveLength(2)
  })

  it('exits with 1 when the port is taken, and leaves no socket', async () => {
    const { env, dataDir } = await enrolledMachine()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => {
      other.close()
    })
    const address = other.address()
    const port = typeof address === 'object' ? String(address?.port) : ''

    const { code, stderr } = await runAgent(['start'], { ...env, PALISADE_PROXY_PORT: port }).ended

    expect(code).toBe(1)
    expect(stderr).toBe(
      `palisade-agent: port ${port} on 127.0.0.1 is taken; ` +
        'set PALISADE_PROXY_PORT to another port, or to 0 for any free one\n',
    )
    expect(await readdir(join(dataDir, 'agent'))).toEqual(['enrolment.json', 'enrolment.json.key'])
  })

  it('exits with 1 next to a running agent, which continues', async () => {
    const machine = await enrolledMachine()
    const { env, socketPath, server } = machine
    server.answer = serve(signNow(machine, 7))
    runAgent(['start'], env)
    await waitForState(socketPath, 'fresh')

    const { code, stderr } = await runAgent(['start'], env).ended

    expect(code).toBe(1)
    expect(stderr).toContain('an agent is already running')
    expect((await askAgent(socketPath, 'GET', '/v1/status')).status).toBe(200)
  })

  it('keeps a second agent off its data, whatever its socket, until it is killed', async () => {
    const machine = await enrolledMachine()
    const { env, socketPath, server } = machine
    server.answer = serve(signNow(machine, 7))
    const first = runAgent(['start'], env)
    await waitForState(socketPath, 'fresh')
    const other = join(await temporaryDirectory(), 'other.sock')

    const { code, stderr } = await runAgent(['start'], { ...env, PALISADE_AGENT_SOCKET: other })
      .ended
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^palisade-agent: an agent is already running on `[^`]+\/agent`; stop it/,
    )

    first.child.kill('SIGKILL')
    await first.ended
    runAgent(['start'], { ...env, PALISADE_AGENT_SOCKET: other })
    await waitForState(other, 'fresh')
  })

  it('prints its help', async () => {
    const help = await runAgent(['start', '--help'], {}).ended
    const usage = await runAgent(['begin'], {}).ended

    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toContain('Examples:')
    expect(usage.code).toBe(2)
    expect(usage.stderr).toContain('unknown command')
  })
})
