import { describe, expect, it } from 'vitest'
import {
  encodeBubblewrapArguments,
  type BubblewrapPlan,
} from '../../../../agent/src/sandbox/launch/bubblewrap-arguments.ts'
import type { Mount } from '../../../../agent/src/sandbox/view/mount.ts'

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
