import { describe, expect, it } from 'vitest'
import {
  findCgroupBases,
  type CgroupDisk,
} from '../../../../agent/src/sandbox/limits/cgroup-bases.ts'

const MOUNT = '30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n'
const CONTROLLERS = 'cpu memory pids'

interface Group {
  processes: string[]
  on: string[]
  readonly isMine: boolean
}

/**
 * Version 2 of control groups as far as the agent uses it: a group with controllers on for its
 * children has no process, but for the top.
 */
class Kernel implements CgroupDisk {
  readonly groups = new Map<string, Group>()
  readonly proc: Readonly<Record<string, string>>

  constructor(own: string, mounts = MOUNT) {
    this.proc = { '/proc/self/cgroup': `0::${own}\n`, '/proc/self/mountinfo': mounts }
  }

  add(path: string, group: Partial<Group> = {}): this {
    this.groups.set(path, { processes: [], on: [], isMine: true, ...group })
    return this
  }

  read(path: string): string | null {
    const [group, name] = this.#split(path)
    if (group === undefined) return this.proc[path] ?? null
    if (name === 'cgroup.procs') return group.processes.join('\n')
    if (name === 'cgroup.subtree_control') return group.on.join(' ')
    if (name === 'cgroup.controllers') return CONTROLLERS
    const above = this.groups.get(path.split('/').slice(0, -2).join('/'))
    return above?.on.includes(name.replace('.max', '')) === true ? 'max' : null
  }

  write(path: string, text: string): boolean {
    const [group, name] = this.#split(path)
    if (group?.isMine !== true) return false
    if (name === 'cgroup.procs') {
      for (const each of this.groups.values())
        each.processes = each.processes.filter((id) => id !== text)
      group.processes.push(text)
      return true
    }
    if (group.processes.length > 0 && !path.startsWith('/sys/fs/cgroup/cgroup.')) return false
    group.on.push(text.slice(1))
    return true
  }

  make(path: string): boolean {
    const above = this.groups.get(path.slice(0, path.lastIndexOf('/')))
    if (above?.isMine !== true || this.groups.has(path)) return false
    this.add(path)
    return true
  }

  remove(path: string): boolean {
    return this.groups.delete(path)
  }

  #split(path: string): [Group | undefined, string] {
    const at = path.lastIndexOf('/')
    return [this.groups.get(path.slice(0, at)), path.slice(at + 1)]
  }
}

const TOP = '/sys/fs/cgroup'
const bases = (disk: Kernel, uid = 1000) =>
  findCgroupBases({ disk, pid: 7, uid, probe: 'palisade-probe' })

describe('the control groups of sandboxes', () => {
  it('are below the group of a service, into which the agent moves out of the way', () => {
    const own = `${TOP}/user.slice/palisade.service`
    const kernel = new Kernel('/user.slice/palisade.service').add(own, { processes: ['7'] })
    expect(bases(kernel)).toEqual({ pids: own, memory: own })
    expect(kernel.groups.get(`${own}/agent`)?.processes).toEqual(['7'])
    expect(kernel.groups.has(`${own}/palisade-probe`)).toBe(false)
  })

  it('are beside the group of an agent that has been moved already', () => {
    const own = `${TOP}/palisade.service`
    const kernel = new Kernel('/palisade.service/agent')
      .add(own, { on: ['memory', 'pids'] })
      .add(`${own}/agent`, { processes: ['7'] })
    expect(bases(kernel)).toEqual({ pids: own, memory: own })
  })

  it('do not move a shell that shares the group of the agent', () => {
    const own = `${TOP}/terminal.scope`
    const kernel = new Kernel('/terminal.scope').add(own, { processes: ['6', '7'] })
    expect(bases(kernel)).toEqual({ pids: null, memory: null })
    expect(kernel.groups.get(own)?.processes).toEqual(['6', '7'])
  })

  it('are not made in a group of another owner', () => {
    const own = `${TOP}/session-3.scope`
    const kernel = new Kernel('/session-3.scope').add(own, { processes: ['7'], isMine: false })
    expect(bases(kernel)).toEqual({ pids: null, memory: null })
  })

  it.each([
    [0, TOP],
    [1000, null],
  ])('are at the top for root alone: user %i', (uid, base) => {
    const kernel = new Kernel('/session-3.scope')
      .add(TOP, { processes: ['1'] })
      .add(`${TOP}/session-3.scope`, { processes: ['6', '7'] })
    expect(bases(kernel, uid)).toEqual({ pids: base, memory: base })
  })

  it('are not looked for on a machine without control groups', () => {
    expect(bases(new Kernel('/', ''))).toEqual({ pids: null, memory: null })
  })
})
