import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compareMounts, expectMounts } from '../../../../agent/src/sandbox/view/compare-mounts.ts'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import type { Mount } from '../../../../agent/src/sandbox/view/mount.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const PLANNED: readonly Mount[] = [
  { kind: 'proc', target: '/proc' },
  { kind: 'dev', target: '/dev' },
  { kind: 'tmpfs', target: '/tmp' },
  { kind: 'dir', target: '/tmp/agent' },
  { kind: 'tmpfs', target: '/home/dev' },
  { kind: 'symlink', target: '/bin', to: 'usr/bin' },
]
const SANDBOX = [
  '40 1 0:50 /newroot / ro - tmpfs tmpfs rw',
  '41 40 0:51 / /proc rw - proc proc rw',
  '42 41 0:51 /sys /proc/sys ro - proc proc rw',
  '43 40 0:52 / /dev rw - tmpfs tmpfs rw',
  '44 43 0:6 /null /dev/null rw - devtmpfs devtmpfs rw',
  '45 43 0:53 / /dev/pts rw - devpts devpts rw',
  '46 40 0:54 / /tmp rw - tmpfs tmpfs rw',
  '47 40 0:55 / /home/dev rw - tmpfs tmpfs rw',
]
const HOST = ['20 1 254:0 / / rw - ext4 /dev/vda rw', '21 20 0:6 / /dev rw - devtmpfs dev rw']

/** The view of a sandbox that waits at its gate, as directories. */
async function waitingSandbox() {
  const root = realpathSync(await temporaryDirectory())
  for (const path of ['proc/1', 'proc/sys', 'dev/pts', 'dev/shm', 'tmp/agent', 'home/dev'])
    mkdirSync(join(root, path), { recursive: true })
  for (const path of ['dev/null', 'dev/ptmx', 'dev/pts/ptmx', 'proc/meminfo'])
    writeFileSync(join(root, path), '')
  symlinkSync('usr/bin', join(root, 'bin'))
  const disk = createViewDisk()
  const compare = (
    now: {
      readonly planned?: readonly Mount[]
      /** The table of the host when the view was planned, and when it is compared. */
      readonly atPlan?: readonly string[]
      readonly host?: readonly string[]
      readonly sandbox?: readonly string[]
    } = {},
  ): string | null => {
    const { planned = PLANNED, atPlan = HOST, host = HOST, sandbox = SANDBOX } = now
    const mountTable = (): Buffer => Buffer.from(atPlan.join('\n'))
    const expected = expectMounts(planned, {
      disk: { ...disk, mountTable },
      emptyFile: root,
      emptyDirectory: root,
      checked: new Set(),
    })
    return compareMounts(
      {
        mountTable: Buffer.from(sandbox.join('\n')),
        hostTable: Buffer.from(host.join('\n')),
        root,
        disk,
      },
      expected,
    )
  }
  return { root, compare }
}

function refusalOf(target: string): string {
  return `the mount \`${target}\` is not the one that was checked`
}

/** The table of the sandbox with another line for a target. */
function changed(target: string, change: (line: string) => string): string[] {
  return SANDBOX.map((line) => (line.split(' ')[4] === target ? change(line) : line))
}

const NEW_TARGETS = ['/', '/proc', '/dev', '/dev/pts', '/tmp', '/home/dev']

describe('the comparison of mounts', () => {
  it('accepts file systems that have the numbers of some that the host has no more', async () => {
    const { compare } = await waitingSandbox()
    const gone = SANDBOX.map((line, index) => line.replace(/ \/\S* /, ` /gone/${index} `))

    expect(compare()).toBeNull()
    expect(compare({ atPlan: [...HOST, ...gone] })).toBeNull()
  })

  it('case 76: expects no other directory in place of one that was checked', async () => {
    const directory = realpathSync(await temporaryDirectory())
    const workspace = join(directory, 'workspace')
    mkdirSync(join(directory, 'foreign'))
    symlinkSync('foreign', workspace)
    const planned = (judged: readonly string[]) => () =>
      expectMounts([{ kind: 'bind', source: workspace, target: workspace, access: 'rw' }], {
        disk: createViewDisk(),
        emptyFile: directory,
        emptyDirectory: directory,
        checked: new Set(judged),
      })

    expect(planned([workspace])).toThrow('was replaced after it was checked')
    expect(planned([])().binds).toHaveLength(1)
  })

  it.each(NEW_TARGETS)('case 76: refuses one of the host at %s, old or new', async (target) => {
    const { compare } = await waitingSandbox()
    const line = SANDBOX.find((each) => each.split(' ')[4] === target) ?? ''
    const host = [...HOST, line.replace(` ${target} `, ' /mnt ')]

    expect(compare({ atPlan: host, host })).toBe(refusalOf(target))
    expect(compare({ host })).toBe(refusalOf(target))
  })

  it.each([
    ['/', 'secret'],
    ['/', 'home/secret'],
    ['/dev', 'dev/secret'],
    ['/dev', 'dev/shm/secret'],
    ['/dev/pts', 'dev/pts/0'],
    ['/proc', 'proc/2'],
    ['/tmp', 'tmp/secret'],
    ['/tmp', 'tmp/agent/secret'],
    ['/home/dev', 'home/dev/.ssh'],
  ])('case 76: refuses one at %s that the host gave up and that holds %s', async (target, path) => {
    const { compare, root } = await waitingSandbox()
    mkdirSync(join(root, path))

    expect(compare()).toBe(refusalOf(target))
  })

  it.each<[string, string, (line: string) => string]>([
    ['a root from elsewhere', '/', (line) => line.replace(' /newroot ', ' /other ')],
    ['another device', '/dev/null', (line) => line.replaceAll('/null', '/kmsg')],
    [
      'a disk as the console',
      '/dev/null',
      (line) => line.replace('/null /dev/null', '/sda /dev/console'),
    ],
  ])('refuses %s', async (_what, target, change) => {
    const { compare } = await waitingSandbox()
    const sandbox = changed(target, change)
    const shown = sandbox.find((line) => !SANDBOX.includes(line))?.split(' ')[4] ?? ''

    expect(compare({ sandbox })).toBe(refusalOf(shown))
  })

  it('refuses settings of the kernel that can be written', async () => {
    const { compare } = await waitingSandbox()
    const sandbox = changed('/proc/sys', (line) => line.replace(' ro ', ' rw '))

    expect(compare({ sandbox })).toBe('the mount `/proc/sys` is not read-only')
  })

  it('refuses a name that is not UTF-8 in a new file system', async () => {
    const { root, compare } = await waitingSandbox()
    writeFileSync(Buffer.concat([Buffer.from(`${root}/tmp/`), Buffer.from([0xff])]), '')

    expect(compare()).toBe(refusalOf('/tmp'))
  })

  it('case 76: refuses a part of a file system that the host gave up', async () => {
    const { compare } = await waitingSandbox()
    const part = (target: string): string[] =>
      changed(target, (line) => line.replace(' / ', ' /part '))

    for (const target of ['/dev', '/dev/pts', '/tmp'])
      expect(compare({ sandbox: part(target) }), target).toBe(refusalOf(target))
  })

  it('looks at the workspace that covers a private place as a bind alone', async () => {
    const { compare, root } = await waitingSandbox()
    const home = join(root, 'home/dev')
    writeFileSync(join(home, 'code'), '')
    const workspace = { kind: 'bind', source: home, target: '/home/dev', access: 'rw' } as const
    const cover = `48 47 254:0 ${home} /home/dev rw - ext4 /dev/vda rw`

    expect(compare({ planned: [...PLANNED, workspace], sandbox: [...SANDBOX, cover] })).toBeNull()
    expect(compare({ sandbox: [...SANDBOX, cover] })).toBe(refusalOf('/home/dev'))
  })
})
