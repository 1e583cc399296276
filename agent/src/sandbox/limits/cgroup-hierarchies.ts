/** A control group of this process in one hierarchy that is mounted. */
export interface OwnCgroup {
  readonly version: 1 | 2
  /** The mount point. */
  readonly top: string
  /** The directory of the group of this process, at or below `top`. */
  readonly own: string
}

/** Controllers that a sandbox uses. */
export type Controller = 'pids' | 'memory'

/**
 * The groups of this process that may hold a controller, from the texts of `/proc/self/mountinfo`
 * and `/proc/self/cgroup`. Version 2 comes first. Version 1 is for `pids` alone.
 */
export function findOwnCgroups(mounts: string, groups: string): readonly OwnCgroup[] {
  const found = mounts.split('\n').flatMap((line) => {
    const mount = parseMount(line)
    if (mount === null) return []
    const path = pathIn(groups, mount.version)
    const rest = path === null ? null : below(path, mount.root)
    if (rest === null) return []
    const { version, top } = mount
    return [{ version, top, own: rest === '' ? top : `${top}${rest}` }]
  })
  return found.toSorted((a, b) => b.version - a.version)
}

interface CgroupMount {
  readonly version: 1 | 2
  readonly top: string
  readonly root: string
}

/** Returns null for a mount of another kind. See proc_pid_mountinfo(5). */
function parseMount(line: string): CgroupMount | null {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , root = '', top = ''] = before.split(' ')
  const [type, , options = ''] = after.split(' ')
  if (type === 'cgroup2') return { version: 2, top, root }
  const isPids = type === 'cgroup' && options.split(',').includes('pids')
  return isPids ? { version: 1, top, root } : null
}

/** See cgroups(7): lines of `ID:CONTROLLERS:PATH`, with `0::` for version 2. */
function pathIn(groups: string, version: 1 | 2): string | null {
  for (const line of groups.split('\n')) {
    const [, id, controllers = '', path = ''] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? []
    const isFound = version === 2 ? id === '0' : controllers.split(',').includes('pids')
    if (id !== undefined && isFound) return path
  }
  return null
}

/** The path without the root of the mount; null when the mount does not show it. */
function below(path: string, root: string): string | null {
  if (root === '/') return path === '/' ? '' : path
  if (path !== root && !path.startsWith(`${root}/`)) return null
  return path.slice(root.length)
}
