import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../server/src/platform/api-error.ts'
import {
  requireGrantable,
  type Allowed,
} from '../../../../server/src/fleet/access/require-grantable.ts'

const refusalOf = (action: Allowed['action'], ...resources: string[]) => {
  try {
    requireGrantable({ action, resources })
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [error.status, error.field, error.reason, error.message]
  }
}

describe('a grant', () => {
  it.each([
    'registry.example.com:443',
    '*.example.com:443',
    '**.corp.example.com',
    '**.corp:443',
    'deno.dev:443',
    '*.app.deno.dev:443',
    '**.app.deno.dev',
    '*.railway.app:443',
    '192.0.2.7:443',
    '10.20.0.0/16',
    '[2001:db8::7]:443',
    '2001:db8::/48',
  ])('may open %s', (resource) => {
    expect(refusalOf('connect:tcp', resource)).toBeNull()
    expect(refusalOf('connect:udp', resource)).toBeNull()
  })

  it.each([
    '127.0.0.1:8080',
    '127.0.0.0/8',
    '169.254.169.254',
    '169.254.169.254:80',
    '[::1]:443',
    'fe80::/10',
    '[::ffff:127.0.0.1]:80',
    '[64:ff9b::7f00:1]:80',
    '0.0.0.0:80',
    '240.0.0.0/4',
    '100.100.100.200:80',
  ])('never opens the protected %s', (resource) => {
    expect(refusalOf('connect:tcp', 'a.example.com:443', resource)).toEqual([
      400,
      'resources[1]',
      'not_grantable',
      expect.stringContaining('opens a protected address'),
    ])
  })

  it.each([
    '0.0.0.0/0',
    '::/0',
    '0.0.0.0/1',
    '64:ff9b::/97',
    '64:ff9b::8000:0/97',
    '2002:8000::/17',
    '**.com',
    '*.com',
    '*.gov.au',
    '**.Deno.dev.:443',
    '*.s3.eu-west-1.amazonaws.com:443',
    '**.eu-west-1.amazonaws.com',
    '**.railway.app:443',
    '::/8',
    'localhost:80',
  ])('never opens the broad %s', (resource) => {
    expect(refusalOf('connect:tcp', resource)?.slice(0, 2)).toEqual([400, 'resources[0]'])
  })

  it.each([
    '/data/project/**',
    '~/project/**',
    '~/.npmrc',
    '/home/alice/project/x',
    '/tmp/*',
    '~/*.txt',
    '/home/alice/*.txt',
    '/home/*/project/**',
    '/var/lib/*/x',
    '/home/alice/project/*/x',
    '/proc/cpuinfo',
    '~/*.md',
    '~/why?/**',
    '/mnt/data/**',
    '/private/var/log/**',
    '/Volumes/Backup/project/**',
    '/mnt/d/project/**',
    '/private/Users/alice/project/**',
    '/System/Volumes/Data/private/var/log/**',
    '/sysroot/ostree/repo/**',
    '/run/app/**',
    '/host/home/alice/project/**',
    '/dev/shm/build/**',
    '/dev/dri/*',
  ])('may open the path %s', (resource) => {
    expect(refusalOf('read', resource)).toBeNull()
    expect(refusalOf('write', resource)).toBeNull()
  })

  it.each([
    '/var/home/alice',
    '/var/home/alice/**',
    '/var/**',
    '/home/**/x',
    '/var/*/alice/**',
    '/home/*/*/x',
    '~/*a*/**',
    '~/**/x',
    '/root/*/x',
    '/export/home/alice/*',
    '/',
    '/**',
    '/*',
    '/**/**',
    '/**/id_rsa',
    '/*/alice/x',
    '~',
    '~/**',
    '~/*',
    '~/**/**',
    '/home',
    '/home/**',
    '/home/*',
    '/home/*/**',
    '/home/alice',
    '/home/alice/**',
    '/home/al*/**',
    '/home/al*',
    '/proc/self/root/**',
    '/proc/self/root/etc/passwd',
    '/proc/*',
    '/root/**',
    '/Users/alice/**',
    '~/.*',
    '~/*.*',
    '~/*o*',
    '/home/alice/Doc*',
    '/home/alice/.*',
    '/users/alice/**',
    '/HOME/alice/**',
    '/U\u017fers/alice/**',
    '/Us\u200bers/alice/**',
    '/Users/alice/\u200b/**',
    '/private/var/root/**',
    '/System/Volumes/Data/**',
    '/Volumes/Macintosh HD/**',
    '/System/Volumes/Data/Users/alice/**',
    '/mnt/c/Users/alice/**',
    '/mnt/d/**',
    '/cygdrive/d/Users/alice/**',
    '/d/Users/alice/**',
    '/c:/Users/alice/**',
    '/Volumes/Backup/**',
    '/Volumes/Backup/Users/alice/**',
    '/private/var/home/alice/**',
    '/System/Volumes/Data/private/var/root/**',
    '/Volumes/Macintosh HD/System/Volumes/Data/Users/alice/**',
    '/Volumes/Macintosh HD/private',
    '/private/Volumes/**/x',
    '/var/roothome/**',
    '/sysroot/ostree/deploy/fedora/var/home/alice/**',
    '/sysroot/home/alice/**',
    '/run/host/home/alice/**',
    '/host/**',
    '/host/home/alice/**',
    '/chroot/build/home/alice/**',
    '/run/host/proc/1/root/etc/passwd',
    '/dev/fd/**',
    '/dev/fd/3/etc/passwd',
    '/dev/**',
    '/dev/*/3/etc/passwd',
    '/.vol/16777220/2/Users/alice/**',
    '/.nofollow/Users/alice/**',
    '/.resolve/1/Users/alice/**',
  ])('never opens the whole %s', (resource) => {
    const refusal = refusalOf('read', resource)?.slice(0, 3)
    expect(refusal).toEqual([400, 'resources[0]', 'not_grantable'])
  })

  it('has no path patterns that make decisions slow together', () => {
    const patterns = ['a', 'b'].map((name) => `/data/**/x${'/*'.repeat(20)}/**/${name}`)
    const [one = '', other = ''] = patterns

    expect(refusalOf('read', one)).toBeNull()
    expect(refusalOf('read', one, other)?.slice(0, 3)).toEqual([400, 'resources', 'path_cost'])
  })

  it.each(['https://example.com/', 'a b', '', '/data', 'example.com:99999'])(
    'is no pattern such as `%s`',
    (resource) => {
      expect(refusalOf('connect:tcp', resource)?.slice(0, 2)).toEqual([400, 'resources[0]'])
    },
  )
})
