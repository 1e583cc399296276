import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BubblewrapPlan } from '../../../../agent/src/sandbox/launch/bubblewrap-arguments.ts'
import type { Mount } from '../../../../agent/src/sandbox/view/mount.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { runCommand, testUsers, type Ended } from '../fixture/bubblewrap.ts'
import { prepareSandbox, WHOLE_MACHINE } from '../fixture/launch.ts'

describe.runIf(process.platform === 'linux').each(testUsers())('bubblewrap, as %s', (user) => {
  async function run(script: string, plan: Partial<BubblewrapPlan> = {}): Promise<Ended> {
    const sandbox = await prepareSandbox(user, plan)
    sandbox.openGate()
    return runCommand(sandbox.words('sh', '-c', script), { env: {} })
  }

  it('gives the user, host, directory and variables of the plan', async () => {
    const variables = new Map([
      ['PATH', '/usr/bin:/bin'],
      ['GREETING', 'a "b"\nc'],
    ])
    const ended = await run('id -u; id -g; hostname; pwd; printenv | sort', {
      uid: 501,
      gid: 20,
      hostname: 'inside',
      cwd: '/usr',
      variables,
    })

    const environment = 'GREETING=a "b"\nPATH=/usr/bin:/bin\nPWD=/usr\nc\n'
    expect(ended).toMatchObject({ code: 0, stdout: `501\n20\ninside\n/usr\n${environment}` })
  })

  it('makes the mounts of the plan, each over the ones before', async () => {
    const directory = await openDirectory()
    writeFileSync(join(directory, 'secret'), 'secret')
    mkdirSync(join(directory, 'keys'))
    writeFileSync(join(directory, 'keys', 'key'), 'key')
    const mounts: readonly Mount[] = [
      ...WHOLE_MACHINE,
      { kind: 'tmpfs', target: '/mnt', size: 1_048_576, mode: 0o1777 },
      { kind: 'bind', source: directory, target: '/mnt/work', access: 'rw' },
      { kind: 'empty-file', target: '/mnt/work/secret' },
      { kind: 'empty-dir', target: '/mnt/work/keys' },
      { kind: 'symlink', target: '/mnt/link', to: 'work/file' },
      { kind: 'dir', target: '/mnt/dir' },
    ]
    const ended = await run(
      `cd /mnt; echo written >work/file; cat link; wc -c <work/secret; ls work/keys; ls -d dir
       stat -c %a /mnt
       for path in work/secret work/keys/new /usr/new /new; do
         touch "$path" 2>/dev/null && echo "$path is writable"
       done
       head -c 2000000 /dev/zero >big 2>/dev/null || echo full; rm big
       rm work/secret 2>/dev/null || mv work/keys work/gone 2>/dev/null || echo masked`,
      { mounts },
    )

    expect(ended).toEqual({
      code: 0,
      signal: null,
      stdout: 'written\n0\ndir\n1777\nfull\nmasked\n',
      stderr: '',
    })
  })

  it('makes an empty root that the command cannot fill', async () => {
    const mounts: readonly Mount[] = [
      { kind: 'bind', source: '/usr', target: '/usr', access: 'ro' },
      ...['bin', 'lib', 'lib64'].map((name): Mount => {
        return { kind: 'symlink', target: `/${name}`, to: `usr/${name}` }
      }),
      { kind: 'proc', target: '/proc' },
      { kind: 'dev', target: '/dev' },
      { kind: 'dir', target: '/srv' },
    ]
    const ended = await run('ls /; touch /a /srv/a /bin/a 2>/dev/null; ls /a /srv/a 2>&1', {
      mounts,
    })

    expect(ended.stdout).toMatch(/^bin\ndev\nlib\nlib64\nproc\nsrv\nusr\n/)
    expect(ended.stdout.match(/No such file or directory/g)).toHaveLength(2)
  })

  it('refuses further namespaces, and hides the processes of the machine', async () => {
    const ended = await run(
      `unshare -Ur true 2>/dev/null || echo no namespace
       ls /proc | grep -c "^[0-9]" | { read -r n; [ "$n" -lt 10 ] && echo few; }`,
    )

    expect(ended.stdout).toBe('no namespace\nfew\n')
  })

  it('fails for a working directory that is not in the view', async () => {
    const ended = await run('echo started', { cwd: '/run/missing' })

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('/run/missing')
  })

  /** A temporary directory that the ordinary user of a test may write too. */
  async function openDirectory(): Promise<string> {
    const directory = await temporaryDirectory()
    chmodSync(directory, 0o777)
    return directory
  }
})
