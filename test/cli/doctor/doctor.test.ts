import type { AgentStatus } from '@palisade/protocol'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { checkAgent } from '../../../packages/cli/src/doctor/agent-checks.ts'
import { checkProxy } from '../../../packages/cli/src/doctor/proxy-check.ts'
import { checkShell } from '../../../packages/cli/src/doctor/shell-checks.ts'
import { startTcpServer } from '../../agent/fixture/proxy.ts'
import { startMachine } from '../proxied-programs/machine.ts'
import { runCli } from '../run-cli.ts'
import { WELL, examine, checksOf } from './doctor-scene.ts'

const NOW_MS = Date.parse('2026-11-21T12:00:00.000Z')

describe('palisade doctor', () => {
  it('tries the programs of the calling shell when `npm run -s` started it', async () => {
    const machine = await startMachine(WELL)
    const levels: unknown[] = []
    const paths: unknown[] = []
    const added =
      '/checkout/node_modules/.bin:/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin'
    const script = {
      npm_lifecycle_event: 'palisade',
      npm_config_loglevel: 'silent',
      PATH: `${added}:/own/bin:/usr/bin`,
    }
    const setting = {
      ...machine,
      env: { ...machine.env, ...script },
      captureProgram: async ([name]: readonly string[], env: Readonly<Record<string, string>>) => {
        levels.push(env['npm_config_loglevel'])
        if (name === 'node') paths.push(env['PATH'])
        return { kind: 'missing' } as const
      },
    }

    await runCli(['doctor'], setting)

    expect(new Set(levels)).toEqual(new Set([undefined]))
    expect(paths).toEqual(['/own/bin:/usr/bin'])
  })

  it('shows its steps on a terminal after a second, and leaves nothing of them', async () => {
    const machine = await startMachine(WELL)
    const examineWithin = (ms: number, progress: boolean) =>
      runCli(['doctor'], {
        ...machine,
        progress,
        captureProgram: async ([program]) => {
          if (program === 'curl') await pause(ms)
          return { kind: 'missing' }
        },
      })

    const slow = await examineWithin(1_300, true)

    const shown = slow.err.split('\u001B[K').map((text) => text.replace('\r', ''))
    const programs = ['curl', 'wget', 'git', 'npm', 'pip', 'node']
    expect(shown).toEqual([...programs.map((name) => `checking ${name} …`), '', ''])
    expect(slow.out).not.toContain('checking')
    expect((await examineWithin(1_300, false)).err).toBe('')
    expect((await examineWithin(0, true)).err).toBe('')
  })

  it('fails with a mend when a program goes around the proxy', async () => {
    const machine = await startMachine(WELL)
    const setting = {
      ...machine,
      captureProgram: async ([program]: readonly string[]) =>
        program === 'curl'
          ? ({ kind: 'ended', code: 6, output: 'Could not resolve host\u001b[2J' } as const)
          : program === 'git'
            ? ({ kind: 'timeout' } as const)
            : ({ kind: 'missing' } as const),
    }

    const { code, out } = await runCli(['doctor'], setting)

    expect(code).toBe(1)
    expect(out).toMatch(
      /fail {2}program:curl +was not refused: Could not resolve host\\u001b.2J\n +mend: .*rc\n/,
    )
    expect(out).toMatch(/fail {2}program:git +did not end within 30 s\n/)
    expect(out).toMatch(/skip {2}program:npm +not installed\n/)
  })

  it('fails with a way to start the agent when none runs', async () => {
    const machine = await startMachine()
    const env = { PALISADE_AGENT_SOCKET: join(machine.cwd, 'none.sock') }

    const run = await examine(machine, env, ['--json'])

    expect(run.code).toBe(1)
    expect([...checksOf(run).values()]).toMatchObject([
      { name: 'agent', outcome: 'fail', mend: expect.stringContaining('PALISADE_DATA_DIR') },
    ])
  })

  it('fails when other users can open the socket', async () => {
    const machine = await startMachine(WELL)
    const socket = machine.env['PALISADE_AGENT_SOCKET'] ?? ''
    const check = async (mode: number) => {
      await chmod(socket, mode)
      const run = await runCli(['doctor', '--json'], machine)
      return checksOf(run).get('socket')?.outcome
    }

    expect(await check(0o600)).toBe('ok')
    expect(await check(0o666)).toBe('fail')
  })
})

describe('the checks of the agent', () => {
  const outcomes = (changes: Partial<AgentStatus>): Record<string, string> => {
    const status = { ...WELL, agent_version: '1', ...HEALTHY, ...changes } as AgentStatus
    const checks = checkAgent(status, { version: '1', nowMs: NOW_MS, enrolment: '/e/f.json' })
    for (const { outcome, mend } of checks) expect(mend === null).toBe(outcome === 'ok')
    const bad = checks.filter(({ outcome }) => outcome !== 'ok')
    return Object.fromEntries(bad.map(({ name, outcome }) => [name, outcome]))
  }
  const HEALTHY = {
    server: 'http://127.0.0.1:8420',
    hints: { is_on: true, failing_since: null, last_error: null },
    cache_problem: null,
  }
  const { sync, bundle } = WELL as AgentStatus
  const since = '2026-11-21T10:00:00.000Z'
  const probe = (at: string, ok: boolean) => ({ probes: { proxy: { at, ok, detail: 'x' } } })

  it.each<[string, Partial<AgentStatus>, Record<string, string>]>([
    ['a healthy agent', {}, {}],
    ['another version', { agent_version: '0' }, { version: 'warn' }],
    ['stale policies', { state: 'stale' }, { policy: 'warn' }],
    ['no policies', { state: 'never_loaded', bundle: null }, { policy: 'fail' }],
    [
      'no policies, and a server that never answered',
      { state: 'never_loaded', bundle: null, sync: { ...sync, last_success_at: null } },
      { policy: 'fail', server: 'fail' },
    ],
    ['expired policies', { state: 'expired' }, { policy: 'fail' }],
    ['a server that fails', { sync: { ...sync, failing_since: since } }, { server: 'warn' }],
    [
      'a server that never answered',
      { sync: { ...sync, last_success_at: null } },
      { server: 'warn' },
    ],
    [
      'no hints',
      { hints: { is_on: true, failing_since: since, last_error: null } },
      { hints: 'warn' },
    ],
    [
      'a clock that is behind',
      { bundle: { ...bundle!, issued_at: '2026-11-21T12:02:00.000Z' } },
      { clock: 'fail' },
    ],
    ['a damaged cache', { cache_problem: { file: null, message: 'x' } }, { cache: 'warn' }],
    ['no self-probe', { probes: { proxy: null } }, { 'self-probe': 'warn' }],
    ['a failed self-probe', probe(since, false), { 'self-probe': 'fail' }],
    ['an old self-probe', probe('2026-11-21T09:00:00.000Z', true), { 'self-probe': 'warn' }],
  ])('%s', (_, changes, expected) => {
    expect(outcomes(changes)).toEqual(expected)
  })

  const mends = (changes: Partial<AgentStatus>): ReadonlySet<string | null> => {
    const status = { ...WELL, agent_version: '1', ...HEALTHY, ...changes } as AgentStatus
    const checks = checkAgent(status, { version: '1', nowMs: NOW_MS, enrolment: '/e/f.json' })
    return new Set(checks.flatMap(({ outcome, mend }) => (outcome === 'ok' ? [] : [mend])))
  }
  const failing = (code: string) => ({
    sync: { ...sync, failing_since: since, last_error: { code, message: 'x' } },
    hints: { is_on: true, failing_since: since, last_error: { code, message: 'x' } },
  })

  it('lead a revoked machine to a new enrolment, and nowhere else', () => {
    const revoked = { state: 'revoked', ...failing('revoked') } as const
    const again = 'rm /e/f.json /e/f.json.key && palisade enrol'

    expect(mends({ ...revoked, user: 'alice' })).toEqual(
      new Set([`enrol this machine again: \`${again} --user alice\`, then restart the agent`]),
    )
    expect([...mends({ ...revoked, user: null })].join()).toContain(`\`${again}\``)
  })

  it.each([
    ['unreachable', 'make http://127.0.0.1:8420 reachable'],
    ['foreign_answer', 'sign in to this network'],
    ['proof_refused', 'set the clock of this machine'],
    ['bad_signature', 'tell the operator of http://127.0.0.1:8420'],
    ['cache_not_written', 'free space'],
    ['not_compilable', 'update the agent'],
  ])('mend a server that fails with %s by one act', (code, expected) => {
    const [mend = '', ...others] = mends(failing(code))

    expect(others).toEqual([])
    expect(mend).toContain(expected)
  })

  it('mend two enrolments by the removal of one', () => {
    const enrolment_files = ['/a.json', '/b.json']

    expect([...mends({ state: 'conflict', enrolment_files })]).toEqual([
      'remove the wrong one of /a.json, /b.json, then restart the agent',
    ])
  })
})

describe('the checks of the shell', () => {
  const PROXY = 'http://127.0.0.1:8421'
  const set = Object.fromEntries(
    ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].map(
      (name) => [name, PROXY],
    ),
  )

  it.each([
    ['all variables', set, ['ok', 'ok']],
    ['no variables', {}, ['warn', 'ok']],
    ['another proxy', { ...set, https_proxy: 'http://proxy.example:3128' }, ['warn', 'ok']],
    ['loopback only', { ...set, NO_PROXY: 'localhost, 127.0.0.1,[::1]' }, ['ok', 'ok']],
    ['one more host', { ...set, no_proxy: 'localhost,git.example.com' }, ['ok', 'warn']],
    ['every host', { ...set, NO_PROXY: '*' }, ['ok', 'fail']],
    ['every host for npm', { ...set, npm_config_noproxy: '*' }, ['ok', 'fail']],
  ])('%s', (_, env, expected) => {
    expect(checkShell(env, PROXY).map(({ outcome }) => outcome)).toEqual(expected)
  })
})

describe('the check of the proxy', () => {
  it('tells a denial from another program, and from silence', async () => {
    const { proxy } = await startMachine()
    const open = await startTcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    const foreign = await startTcpServer((socket) => socket.end('HTTP/1.1 403 No\r\n\r\n'))
    const check = async (port: number) => (await checkProxy(`http://127.0.0.1:${port}`)).outcome

    expect(await check(proxy.port)).toBe('ok')
    expect(await check(open)).toBe('fail')
    expect(await check(foreign)).toBe('fail')
    expect(await check(1)).toBe('fail')
  })
})
