import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PolicyBundle } from '../../../agent/src/policy/decision/policy-bundle.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { bundleClaims, policyOf, type RuleLine } from '../fixture/bundle.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { endOf, startSandboxMachine, untilPrinted } from './fixture/machine.ts'

/** Opens the project, and allows `good.test`. */
function opened(project: string, ...denies: readonly RuleLine[]): PolicyBundle {
  return bundleClaims({
    policies: [
      policyOf(
        ['allow', 'read', `${project}/**`, project],
        ['allow', 'write', `${project}/**`, project],
      ),
      { ...policyOf(['allow', 'connect:tcp', 'good.test:80', '192.0.2.7']), id: 'pol_2' },
      ...(denies.length === 0 ? [] : [{ ...policyOf(...denies), id: 'pol_3' }]),
    ],
  })
}

const SHELL = ['--', 'sh', '-c'] as const
const WITHOUT_PROXY = 'unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY; '

describe('palisade run', () => {
  it('runs a command in the workspace and ends with its status', async () => {
    const machine = await startSandboxMachine(opened)
    const ended = await machine.run([...SHELL, 'pwd; echo made >new.txt; exit 7'])
    expect(ended).toEqual({ code: 7, stdout: `${machine.project}\n`, stderr: '' })
    expect(await readFile(join(machine.project, 'new.txt'), 'utf8')).toBe('made\n')
  })

  it('shows no file beside the workspace and the system', async () => {
    const machine = await startSandboxMachine(opened)
    const { stdout } = await machine.run([
      ...SHELL,
      `ls -A .. ../agent ~ /run; cat /etc/shadow ${machine.agentDir}/agent.sock; echo end`,
    ])
    expect(stdout).not.toContain('agent.sock')
    expect(stdout).toContain('project')
    expect(stdout.endsWith('end\n')).toBe(true)
  })

  it('leaves half of what the user may watch to programs outside', async () => {
    const machine = await startSandboxMachine(opened)
    // inotify_init1(2), as often as it is permitted.
    const call = process.arch === 'x64' ? 294 : 26
    const script = `my $n = 0; $n++ while $n < 100_000 && syscall(${call}, 0) >= 0; print $n`
    const { stdout } = await machine.run(['--', 'perl', '-e', script])
    const limit = Number(await readFile('/proc/sys/fs/inotify/max_user_instances', 'utf8'))
    expect(Number(stdout)).toBeGreaterThan(0)
    expect(Number(stdout)).toBeLessThanOrEqual(Math.ceil(limit / 2))
  })

  it('hides a denied file and keeps it unchanged', async () => {
    const machine = await startSandboxMachine((project) =>
      opened(project, ['deny', 'read', '/**/.env'], ['deny', 'write', '/**/fixed.txt']),
    )
    await writeFile(join(machine.project, '.env'), 'SECRET')
    await writeFile(join(machine.project, 'fixed.txt'), 'fixed')
    const script = 'cat .env fixed.txt; echo x >.env; echo x >fixed.txt; rm -f .env fixed.txt'
    const { stdout } = await machine.run([...SHELL, script])
    expect(stdout).toBe('fixed')
    expect(await readFile(join(machine.project, '.env'), 'utf8')).toBe('SECRET')
    expect(await readFile(join(machine.project, 'fixed.txt'), 'utf8')).toBe('fixed')
  })

  it('refuses a workspace that policy does not open, and names the action', async () => {
    const machine = await startSandboxMachine(opened)
    const other = await temporaryDirectory()
    const ended = await machine.run([...SHELL, 'echo ran'], other)
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('`read`')
    expect(ended.stderr).toContain(other)
  })

  it('judges a workspace by its real path', async () => {
    const machine = await startSandboxMachine(opened)
    const other = await temporaryDirectory()
    await symlink(other, join(machine.project, 'link'))
    const ended = await machine.run(['--workspace', 'link', ...SHELL, 'echo ran'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain(other)
  })

  it('does not let a read-only workspace be written', async () => {
    const machine = await startSandboxMachine(opened)
    const { code } = await machine.run(['--workspace', '.:ro', ...SHELL, 'echo x >new.txt'])
    expect(code).not.toBe(0)
    expect(existsSync(join(machine.project, 'new.txt'))).toBe(false)
  })

  it.each([
    ['/no/such/directory', 'workspace_denied', 'does not exist'],
    ['relative', 'invalid_request', 'must be absolute'],
    ['/a\0b', 'invalid_request', 'NUL'],
    [`/${'a'.repeat(5_000)}`, 'invalid_request', '4096'],
  ])('refuses to start in %j', async (directory, code, message) => {
    const machine = await startSandboxMachine(opened)
    const workspaces = [{ path: machine.project, access: 'rw' }]
    const result = await machine.sandboxes.startSandbox({ workspaces, directory, variables: {} })
    expect(result).toMatchObject({ outcome: 'failed', launch: null, error: { code } })
    expect(result.error?.message).toContain(message)
  })

  it('starts no sandbox without a policy', async () => {
    const machine = await startSandboxMachine(() => null)
    const ended = await machine.run([...SHELL, 'echo ran'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('no policy is in force')
  })

  it('carries an allowed request with and without the proxy', async () => {
    const machine = await startSandboxMachine(opened, { 'good.test': ['192.0.2.7'] })
    const script = `curl -s http://good.test/; ${WITHOUT_PROXY}curl -s http://good.test/`
    const { stdout } = await machine.run([...SHELL, script])
    expect(stdout).toBe('yesyes')
  })

  it('denies any other target with and without the proxy, and records it', async () => {
    const machine = await startSandboxMachine(opened, { 'bad.test': ['192.0.2.7'] })
    const script =
      `curl -s http://bad.test/; ${WITHOUT_PROXY}` +
      'curl -s http://bad.test/; curl -s http://192.0.2.9/; getent hosts bad.test; echo end'
    const { stdout } = await machine.run([...SHELL, script])
    expect(stdout).not.toContain('yes')
    expect(stdout.endsWith('end\n')).toBe(true)
    expect(machine.resolved).toEqual([])
    const denied = machine.events.filter(({ decision }) => decision.decision === 'deny')
    expect(new Set(denied.map(({ point }) => point))).toEqual(new Set(['proxy', 'dns', 'capture']))
    expect(new Set(denied.map(({ sandbox }) => sandbox)).size).toBe(1)
  })

  it('gives the command no capability and no descriptor but the standard ones', async () => {
    const machine = await startSandboxMachine(opened)
    const script = 'grep CapEff /proc/self/status; ls /proc/self/fd | tr "\\n" " "'
    const { stdout } = await machine.run([...SHELL, script])
    // The last descriptor is that of `ls` itself.
    expect(stdout).toMatch(/^CapEff:\s+0{16}\n0 1 2 3 $/)
  })

  it('passes on only variables that are listed or asked for', async () => {
    const machine = await startSandboxMachine(opened)
    const { stdout } = await machine.run(['--env', 'ASKED=1', '--', 'env'])
    expect(stdout).toContain('ASKED=1\n')
    expect(stdout).not.toContain('PALISADE_AGENT_SOCKET')
  })

  it('hides a denied file again after a program outside has replaced it', async () => {
    const machine = await startSandboxMachine((project) =>
      opened(project, ['deny', 'read', '/**/.env']),
    )
    const path = join(machine.project, '.env')
    await writeFile(path, 'FIRST')
    const child = machine.start([
      ...SHELL,
      // The mask comes back within a time that the benchmark measures.
      'echo ready; until [ -e go ] && [ ! -s .env ]; do sleep 0.05; done; cat .env; echo end',
    ])
    const ended = endOf(child)
    await untilPrinted(child)
    await writeFile(`${path}.new`, 'SECOND')
    await rename(`${path}.new`, path)
    await writeFile(join(machine.project, 'go'), '')
    expect((await ended).stdout).toBe('ready\nend\n')
    expect(await readFile(path, 'utf8')).toBe('SECOND')
  })

  it('ends a sandbox whose workspace is no longer granted', async () => {
    const machine = await startSandboxMachine(opened)
    const child = machine.start([...SHELL, 'echo ready; sleep 1000'])
    const ended = endOf(child)
    await untilPrinted(child)
    machine.use(bundleClaims({ revision: 8 }))
    expect(await ended).toMatchObject({ code: 125 })
    expect((await ended).stderr).toContain('no longer opens the workspace')
  })

  it('keeps a file hidden whose directory becomes read-only while the command runs', async () => {
    const hidden = ['deny', 'read', '/**/.env'] as const
    const machine = await startSandboxMachine((project) => opened(project, hidden))
    await mkdir(join(machine.project, 'vendor'))
    await writeFile(join(machine.project, 'vendor/.env'), 'SECRET')
    const child = machine.start([
      ...SHELL,
      'echo ready; while echo >vendor/new; do :; done 2>/dev/null; sleep 1; ' +
        'cat vendor/.env; echo end',
    ])
    const ended = endOf(child)
    await untilPrinted(child)
    machine.use(opened(machine.project, hidden, ['deny', 'write', `${machine.project}/vendor/**`]))
    expect((await ended).stdout).toBe('ready\nend\n')
  })

  it('applies a deny that came between the launch and the start of the command', async () => {
    const machine = await startSandboxMachine(opened)
    await writeFile(join(machine.project, 'late.txt'), 'SECRET')
    const result = await machine.sandboxes.startSandbox({
      workspaces: [{ path: machine.project, access: 'rw' }],
      directory: machine.project,
      variables: {},
    })
    machine.use(opened(machine.project, ['deny', 'read', `${machine.project}/late.txt`]))
    if (result.launch === null) throw new Error('no launch')
    const { program, arguments: words } = result.launch
    const close = 'use POSIX (); POSIX::close($_) for 3..1023; exec { $ARGV[0] } @ARGV'
    const command = [program, ...words, 'sh', '-c', 'cat late.txt; echo end']
    const child = spawn('perl', ['-e', close, '--', ...command], { env: {} })
    expect((await endOf(child)).stdout).toBe('end\n')
  })

  it('lets no command write settings of the kernel, not even as root', async () => {
    const machine = await startSandboxMachine(opened)
    const script = 'find /proc/sys -type f -writable | head; cat /proc/sys/kernel/ostype'
    expect((await machine.run([...SHELL, script])).stdout).toBe('Linux\n')
  })

  it('refuses a directory as standard input, which leads to the whole machine', async () => {
    const machine = await startSandboxMachine(opened)
    const run = 'exec "$@" </etc'
    const words = ['-c', run, 'sh', process.execPath, ...BUILT_CLI, 'run', ...SHELL, 'echo ran']
    const env = {
      PATH: process.env['PATH'],
      PALISADE_AGENT_SOCKET: join(machine.agentDir, 'agent.sock'),
    }
    const child = spawn('/bin/sh', words, { cwd: machine.project, env })
    const ended = await endOf(child)
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('is a directory')
  })

  it.each([
    ['a late line of a pipe', '{ echo 1; sleep 1.5; echo 2; } | "$@" -- cat', '1\n2\n'],
    ['a slow reader', '"$@" -- head -c 3000000 /dev/zero | { sleep 0.5; wc -c; }', '3000000\n'],
  ])('lets the command wait for %s', async (_name, script, stdout) => {
    const machine = await startSandboxMachine(opened)
    const words = ['-c', script, 'sh', process.execPath, ...BUILT_CLI, 'run']
    const env = {
      PATH: process.env['PATH'],
      PALISADE_AGENT_SOCKET: join(machine.agentDir, 'agent.sock'),
    }
    const child = spawn('/bin/sh', words, { cwd: machine.project, env })
    expect(await endOf(child)).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('leaves nothing behind', async () => {
    const machine = await startSandboxMachine(opened)
    await machine.run([...SHELL, 'true'])
    await expect.poll(() => [...machine.sandboxes.all()].length, { timeout: 30_000 }).toBe(0)
    expect(readdirSync(machine.project)).toEqual([])
    await machine.sandboxes.stop()
    expect(readdirSync(join(machine.agentDir, 'sandboxes'))).toEqual([])
  })

  it('ends with its agent', async () => {
    const machine = await startSandboxMachine(opened)
    const child = machine.start([...SHELL, 'echo ready; sleep 1000'])
    const ended = endOf(child)
    await untilPrinted(child)
    await machine.sandboxes.stop()
    expect((await ended).code).toBe(125)
  })

  it('keeps two sandboxes apart', async () => {
    const machine = await startSandboxMachine(opened)
    const [a, b] = [join(machine.project, 'a'), join(machine.project, 'b')]
    await Promise.all([mkdir(a), mkdir(b)])
    const script = 'touch here; ls -A .. ; ls /proc | grep -c "^[0-9]"'
    const [first, second] = await Promise.all([
      machine.run([...SHELL, script], a),
      machine.run([...SHELL, script], b),
    ])
    expect(first.stdout).toMatch(/^a\n/)
    expect(second.stdout).toMatch(/^b\n/)
    expect(first.stdout).not.toContain('b\n')
  })

  it.each([
    [['--', '/nonexistent/command'], 127],
    [['--', '/etc/hostname'], 126],
    [['--', 'named=like-a-variable'], 127],
    [['--', 'sh', '-c', 'kill -TERM $$'], 143],
  ])('ends like a shell after %j', async (words, code) => {
    const machine = await startSandboxMachine(opened)
    expect((await machine.run(words)).code).toBe(code)
  })
})
