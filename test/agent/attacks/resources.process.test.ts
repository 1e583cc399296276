import { existsSync, readdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundleClaims, policyOf } from '../fixture/bundle.ts'
import { runCommand, testUsers } from '../sandbox/fixture/bubblewrap.ts'
import { prepareSandbox } from '../sandbox/fixture/launch.ts'
import {
  endOf,
  startSandboxMachine,
  type SandboxMachine,
  untilPrinted,
} from '../sandbox/fixture/machine.ts'

/** Makes processes until it cannot, at most 400, which end with it. */
const FORK_BOMB = `
my $made = 0;
while ($made < 400) { my $id = fork; last if !defined $id; if (!$id) { sleep 1000; exit } $made++ }
print "made $made\n";
kill 'KILL', -1;
`
const PIDS_V1 = '/sys/fs/cgroup/pids'

/** A machine that opens the project. */
function machineOf(): Promise<SandboxMachine> {
  return startSandboxMachine((project) =>
    bundleClaims({
      policies: [
        policyOf(
          ['allow', 'read', `${project}/**`, project],
          ['allow', 'write', `${project}/**`, project],
        ),
      ],
    }),
  )
}

function madeIn(output: string): number {
  return Number(/^made (\d+)$/m.exec(output)?.[1])
}

describe('case 72: a command that takes all resources', () => {
  it('case 72: a fork bomb stops at the limit of processes', async () => {
    const machine = await machineOf()
    const words = ['--limit', 'processes=60', '--', 'perl', '-e', FORK_BOMB]
    const { stdout, stderr } = await machine.run(words)
    expect(stderr).toBe('')
    expect(madeIn(stdout)).toBeGreaterThan(40)
    expect(madeIn(stdout)).toBeLessThan(64)
  })

  it('case 72: threads count as processes', async () => {
    const machine = await machineOf()
    const script = `
import threading, time
made = 0
try:
    for made in range(400): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError: pass
print("made", made, flush=True)
import os; os._exit(0)`
    const words = ['--limit', 'processes=60', '--', 'python3', '-c', script]
    expect(madeIn((await machine.run(words)).stdout)).toBeLessThan(64)
  })

  it('case 72: two sandboxes do not share their limit', async () => {
    const machine = await machineOf()
    const words = ['--limit', 'processes=60', '--', 'perl', '-e', FORK_BOMB]
    const both = await Promise.all([machine.run(words), machine.run(words)])
    for (const { stdout } of both) expect(madeIn(stdout)).toBeGreaterThan(40)
  })

  it('case 72: a process gets no more memory than its limit', async () => {
    const machine = await machineOf()
    const script = 'my @all; push @all, "x" x 1_000_000 for 1..256; print "filled\\n"'
    const command = ['--', 'perl', '-e', script]
    const ended = await machine.run(['--limit', 'process-memory=64M', ...command])
    expect(ended.stdout).toBe('')
    expect(ended.code).not.toBe(0)
    expect((await machine.run(['--limit', 'process-memory=1G', ...command])).stdout).toBe(
      'filled\n',
    )
  })

  it.each(['/tmp', '/var/tmp', '/run', '/dev/shm', '$HOME'])(
    'case 72: %s holds no more bytes and files than its limit',
    async (directory) => {
      const machine = await machineOf()
      const script =
        `cd ${directory} && dd if=/dev/zero of=full bs=1M count=8 2>/dev/null; ` +
        'wc -c <full; rm full; i=0; ' +
        'while [ $i -lt 2000 ] && : 2>/dev/null >f$i; do i=$((i+1)); done; echo made $i'
      const shell = ['--limit', 'tmp=2M', '--', 'bash', '-c', script]
      const { stdout } = await machine.run(shell)
      expect(Number(stdout.split('\n', 1)[0])).toBeLessThanOrEqual(2 * 1024 * 1024)
      expect(madeIn(stdout)).toBeGreaterThan(400)
      expect(madeIn(stdout)).toBeLessThanOrEqual(512)
    },
  )

  it('case 72: no directory without a limit can be written', async () => {
    const machine = await machineOf()
    // Prints directories at which another file system begins, but does not enter them.
    const find = 'find / /dev -xdev -type d -writable'
    const found = (await machine.run(['--', 'sh', '-c', find])).stdout.trim().split('\n')
    const limited = ['/tmp', '/var/tmp', '/run', '/dev/shm', '/dev/pts', userInfo().homedir]
    expect([...limited, machine.project]).toEqual(expect.arrayContaining(found))
    expect(found).toContain('/tmp')
  })

  it('case 72: open files and core files have limits that the command cannot raise', async () => {
    const machine = await machineOf()
    const script = 'ulimit -Hn; ulimit -Hc; ulimit -n 5000 || echo kept'
    const words = ['--limit', 'files=100', '--', 'sh', '-c', script]
    expect((await machine.run(words)).stdout).toBe('100\n0\nkept\n')
  })

  it('case 72: a limit that cannot be held is refused by its name', async () => {
    const machine = await machineOf()
    const ended = await machine.run(['--limit', 'memory=64M', '--', 'echo', 'ran'])
    const refused = {
      code: 125,
      stdout: '',
      stderr: expect.stringMatching(/the limit `memory` cannot be held here.*process-memory/),
    }
    const isHeld = machine.sandboxes.limits().memory !== null
    expect(ended).toMatchObject(isHeld ? { code: 0, stdout: 'ran\n' } : refused)
  })

  it.runIf(userInfo().uid === 0 && existsSync(`${PIDS_V1}/cgroup.procs`))(
    'case 72: leaves no control group behind',
    async () => {
      const machine = await machineOf()
      const groupsOf = (ids: readonly string[]): readonly string[] =>
        ids.filter((id) => existsSync(`${PIDS_V1}/palisade-${id}`))
      const child = machine.start(['--', 'sh', '-c', 'echo ready; sleep 1000'])
      const ended = endOf(child)
      await untilPrinted(child)
      const ids = readdirSync(join(machine.agentDir, 'sandboxes'))
      expect(groupsOf(ids)).toHaveLength(1)
      await machine.sandboxes.stop()
      await ended
      expect(groupsOf(ids)).toEqual([])
    },
  )
})

describe.each(testUsers())('case 72: the limits of a process, as %s', (user) => {
  it('case 72: hold what can be held for this user', async () => {
    const limits = { processes: 60, files: 50, dataBytes: 64 * 2 ** 20 }
    const sandbox = await prepareSandbox(user, {}, limits)
    sandbox.openGate()
    const script = 'ulimit -Hn; ulimit -Hd; ulimit -Hc; exec perl -e "$1"'
    const words = sandbox.words('sh', '-c', script, 'sh', FORK_BOMB)
    const { stdout } = await runCommand(words, { env: {} })
    expect(stdout.split('\n').slice(0, 3)).toEqual(['50', '65536', '0'])
    // The kernel does not count the processes of root; a control group does.
    expect(madeIn(stdout)).toBeLessThanOrEqual(user === 'root' ? 400 : 60)
  })
})
