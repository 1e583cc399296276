import { describe, expect, it } from 'vitest'
import { findOwnCgroups } from '../../../../agent/src/sandbox/limits/cgroup-hierarchies.ts'

const V2 = '30 1 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n'
const PIDS = '31 1 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n'

describe('findCgroupPlaces', () => {
  it.each([
    ['/', '/sys/fs/cgroup'],
    ['/user.slice/a.service', '/sys/fs/cgroup/user.slice/a.service'],
  ])('finds the group %s of version 2', (path, own) => {
    const found = findOwnCgroups(V2, `0::${path}\n`)
    expect(found).toEqual([{ version: 2, top: '/sys/fs/cgroup', own }])
  })

  it('finds the hierarchy of processes of version 1, after version 2', () => {
    const found = findOwnCgroups(PIDS + V2, '8:pids:/a\n4:memory:/b\n0::/\n')
    expect(found.map(({ own }) => own)).toEqual(['/sys/fs/cgroup', '/sys/fs/cgroup/pids/a'])
  })

  it('leaves out the root of a mount that a container sees', () => {
    const mount = V2.replace(' / ', ' /docker/1 ')
    expect(findOwnCgroups(mount, '0::/docker/1/x\n')[0]?.own).toBe('/sys/fs/cgroup/x')
    expect(findOwnCgroups(mount, '0::/docker/12\n')).toEqual([])
  })

  it.each(['', 'nonsense', '0::relative', '8:memory:/'])('finds no group in %j', (groups) => {
    expect(findOwnCgroups(V2 + PIDS, groups)).toEqual([])
  })
})
