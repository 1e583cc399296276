import { describe, expect, it } from 'vitest'
import type { ObjectStatus, ViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { planRootView, type RootViewDeps } from '../../../../agent/src/sandbox/view/root-view.ts'
import { systemFiles } from '../../../../agent/src/sandbox/view/system-files.ts'

const user = { name: 'dev', uid: 1000, gid: 1000, home: '/home/dev', shell: '/bin/bash' }

function hostWith(kinds: Readonly<Record<string, ObjectStatus['kind']>>): ViewDisk {
  const status = (path: string): ObjectStatus | null => {
    const kind = kinds[path]
    if (kind === undefined) return null
    return { kind, device: 1, inode: 1, isOwn: false, links: 1, size: 0, changedMs: 0, bornMs: 0 }
  }
  const names = Object.keys(kinds)
    .filter((path) => path.startsWith('/etc/'))
    .map((path) => path.slice('/etc/'.length))
  const entries = names.map((name) => ({
    name,
    isDirectory: () => true,
    isFile: () => false,
    isSymbolicLink: () => false,
  }))
  return {
    status,
    list: () => ({ entries, invalid: [] }),
    *listInSteps() {
      yield
      return { entries, invalid: [] }
    },
    readLink: (path) => `target-of${path}`,
    realPath: (path) => Buffer.from(path),
    mountTable: () => Buffer.alloc(0),
  }
}

function plan(
  kinds: Readonly<Record<string, ObjectStatus['kind']>>,
  isOptAllowed = false,
  others: Partial<RootViewDeps> = {},
) {
  return planRootView({
    client: null,
    workspaces: [],
    disk: hostWith(kinds),
    home: '/home/dev',
    systemFiles: '/agent/etc',
    isOptAllowed,
    privateBytes: 1024,
    ...others,
  })
}

describe('the root view', () => {
  it('has system directories as links or directories, as the host has', () => {
    const mounts = plan({ '/bin': 'link', '/sbin': 'directory', '/lib64': 'link' })

    expect(mounts).toContainEqual({ kind: 'symlink', target: '/bin', to: 'target-of/bin' })
    expect(mounts).toContainEqual({
      kind: 'bind',
      source: '/sbin',
      target: '/sbin',
      access: 'ro',
    })
    expect(mounts.filter(({ target }) => target === '/lib32')).toEqual([])
  })

  it('shows of the system settings only those of its list', () => {
    const mounts = plan({
      '/etc/shadow': 'file',
      '/etc/ssh': 'directory',
      '/etc/npmrc': 'file',
      '/etc/pip.conf': 'file',
      '/etc/gitconfig': 'file',
      '/etc/maven': 'directory',
      '/etc/groff': 'directory',
      '/etc/ld.so.cache': 'file',
      '/etc/java-17-openjdk': 'directory',
      '/etc/localtime': 'link',
      '/etc/services': 'special',
    })
    const settings = mounts.map(({ target }) => target).filter((path) => path.startsWith('/etc/'))

    expect(settings.toSorted()).toEqual([
      '/etc/groff',
      '/etc/group',
      '/etc/hostname',
      '/etc/hosts',
      '/etc/java-17-openjdk',
      '/etc/ld.so.cache',
      '/etc/localtime',
      '/etc/maven',
      '/etc/mtab',
      '/etc/nsswitch.conf',
      '/etc/passwd',
      '/etc/resolv.conf',
    ])
  })

  it('shows `/opt` only if policy allows to read it', () => {
    const targets = (isAllowed: boolean) =>
      plan({ '/opt': 'directory' }, isAllowed).map(({ target }) => target)

    expect(targets(true)).toContain('/opt')
    expect(targets(false)).not.toContain('/opt')
  })

  it('binds no directory for writing', () => {
    const mounts = plan({ '/bin': 'directory', '/opt': 'directory' }, true)

    expect(mounts.filter((mount) => mount.kind === 'bind' && mount.access === 'rw')).toEqual([])
  })
})

describe('the system files of a sandbox', () => {
  it('name the resolver of the sandbox and its user only', () => {
    const files = systemFiles(user, 'box')

    expect(files['resolv.conf']).toMatch(/^nameserver 127\.0\.0\.1$/m)
    expect(files.passwd).toBe(
      [
        'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
        'dev:x:1000:1000:dev:/home/dev:/bin/bash',
        'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
        '',
      ].join('\n'),
    )
    expect(files.hosts).toBe('127.0.0.1 localhost box\n::1 localhost ip6-localhost\n')
  })

  it('let no name begin another field or line', () => {
    const files = systemFiles({ ...user, name: 'a:0\nroot', home: '/h:x' }, 'b\nc')

    expect(files.passwd.split('\n')[1]).toBe('a_0_root:x:1000:1000:a_0_root:/h_x:/bin/bash')
    expect(files.hostname).toBe('b_c\n')
  })

  it('shows the command line at its own paths, unless they are in view already', () => {
    const client = { script: '/agent/palisade', paths: ['/usr/bin/node', '/home/dev/p/dist'] }
    const shown = (workspaces: readonly string[]): readonly string[] =>
      plan({}, false, { client, workspaces }).flatMap((mount) =>
        mount.kind === 'bind' && /palisade$|node$|dist$/.test(mount.target) ? [mount.target] : [],
      )

    expect(shown([])).toEqual(['/home/dev/p/dist', '/run/palisade/bin/palisade'])
    expect(shown(['/home/dev/other'])).toEqual(shown([]))
    expect(shown(['/home/dev/p'])).toEqual(['/run/palisade/bin/palisade'])
  })
})
