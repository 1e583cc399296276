import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  encodeBubblewrapArguments,
  type BubblewrapPlan,
} from '../../../../agent/src/sandbox/launch/bubblewrap-arguments.ts'
import type { Mount } from '../../../../agent/src/sandbox/view/mount.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { runCommand, testUsers, type Ended } from '../fixture/bubblewrap.ts'
import { prepareSandbox, WHOLE_MACHINE } from '../fixture/launch.ts'

const PLAN: BubblewrapPlan = {
  uid: 501,
  gid: 20,
  hostname: 'sandbox',
  mounts: [],
  cwd: '/work',
  variables: new Map(),
  emptyFile: '/agent/empty-file',
  emptyDirectory: '/agent/empty-directory',
  seccompFd: 4,
  gateFd: 5,
  infoFd: 6,
}

function wordsOf(plan: Partial<BubblewrapPlan>): readonly string[] {
  const text = encodeBubblewrapArguments({ ...PLAN, ...plan }).toString()
  expect(text.endsWith('\0')).toBe(true)
  return text.slice(0, -1).split('\0')
}

describe('the arguments of bubblewrap', () => {
  it('make namespaces of all kinds but that of the network, which the holder has', () => {
    const words = wordsOf({})

    for (const name of ['user', 'pid', 'ipc', 'uts']) expect(words).toContain(`--unshare-${name}`)
    expect(words).not.toContain('--unshare-all')
    expect(words).not.toContain('--unshare-net')
    expect(words).not.toContain('--share-net')
    expect(words).not.toContain('--new-session')
    expect(words).toEqual(expect.arrayContaining(['--disable-userns', '--die-with-parent']))
    expect(words.join(' ')).toContain('--uid 501 --gid 20 --hostname sandbox')
    expect(words.join(' ')).toContain('--cap-drop ALL')
    expect(words.join(' ')).toContain('--seccomp 4 --block-fd 5 --info-fd 6')
  })

  it.each<[Mount, string]>([
    [{ kind: 'bind', source: '/a', target: '/b', access: 'ro' }, '--ro-bind /a /b'],
    [{ kind: 'bind', source: '/a', target: '/b', access: 'rw' }, '--bind /a /b'],
    [{ kind: 'tmpfs', target: '/tmp' }, '--tmpfs /tmp'],
    [
      { kind: 'tmpfs', target: '/tmp', size: 4096, mode: 0o1777 },
      '--perms 1777 --size 4096 --tmpfs /tmp',
    ],
    [{ kind: 'dir', target: '/srv' }, '--dir /srv'],
    [{ kind: 'symlink', target: '/bin', to: 'usr/bin' }, '--symlink usr/bin /bin'],
    [{ kind: 'empty-file', target: '/w/.env' }, '--ro-bind /agent/empty-file /w/.env'],
    [{ kind: 'empty-dir', target: '/w/keys' }, '--ro-bind /agent/empty-directory /w/keys'],
    [
      { kind: 'proc', target: '/proc' },
      '--proc /proc --ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/fs /proc/fs ' +
        '--ro-bind-try /proc/scsi /proc/scsi --ro-bind-try /proc/acpi /proc/acpi ' +
        '--ro-bind-try /proc/driver /proc/driver --ro-bind-try /proc/mtrr /proc/mtrr',
    ],
    [{ kind: 'dev', target: '/dev' }, '--dev /dev --remount-ro /dev'],
  ])('make the mount %j', (mount, expected) => {
    expect(wordsOf({ mounts: [mount] }).join(' ')).toContain(
      `${expected} --remount-ro / --chdir /work`,
    )
  })

  it('keep the order of the mounts', () => {
    const mounts: readonly Mount[] = [
      { kind: 'tmpfs', target: '/a' },
      { kind: 'bind', source: '/x', target: '/a/b', access: 'rw' },
      { kind: 'empty-file', target: '/a/b/c' },
      { kind: 'tmpfs', target: '/a/b/d' },
    ]

    expect(wordsOf({ mounts }).join(' ')).toContain(
      '--tmpfs /a --bind /x /a/b --ro-bind /agent/empty-file /a/b/c --tmpfs /a/b/d',
    )
  })

  it('keep each text one word, also one that looks like an option', () => {
    const mounts: readonly Mount[] = [
      { kind: 'bind', source: '--bind', target: '/a b\n', access: 'ro' },
    ]
    const words = wordsOf({ mounts, variables: new Map([['A', '--bind / /']]) })

    expect(words).toEqual(expect.arrayContaining(['--ro-bind', '--bind', '/a b\n']))
    expect(words).toEqual(expect.arrayContaining(['--setenv', 'A', '--bind / /']))
  })

  it.each<[string, Partial<BubblewrapPlan>]>([
    ['a path', { mounts: [{ kind: 'dir', target: '/a\0--bind\0/\0/' }] }],
    ['the text of a link', { mounts: [{ kind: 'symlink', target: '/a', to: 'b\0' }] }],
    ['the working directory', { cwd: '/\0' }],
    ['the value of a variable', { variables: new Map([['A', '\0']]) }],
    ['the host name', { hostname: 'a\0b' }],
  ])('refuse a NUL in %s', (_name, plan) => {
    expect(() => encodeBubblewrapArguments({ ...PLAN, ...plan })).toThrow(RangeError)
  })
})

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
