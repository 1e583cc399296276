import { SANDBOX_MARK, SANDBOX_PROGRAMS } from '@palisade/protocol'
import type { Mount } from './mount.ts'
import type { ShownClient } from './client-program.ts'
import type { ViewDisk } from './disk.ts'
import { isWithin } from './mount-table.ts'
import { systemSettings } from './system-settings.ts'

/** The host as the root view sees it. */
export interface RootViewDeps {
  readonly disk: ViewDisk
  /** The real path of the user's home directory. */
  readonly home: string
  /** The agent's own directory that `writeSystemFiles` filled. */
  readonly systemFiles: string
  /** The command line, and the workspaces, which are mounted later and may have it. */
  readonly client: ShownClient | null
  readonly workspaces: readonly string[]
  /** Whether policy allows to read `/opt` and all in it, the programs of third parties. */
  readonly isOptAllowed: boolean
  /** Bytes that each private file system may hold. */
  readonly privateBytes: number
}

/** The place inside for the agent's objects, such as its socket. */
export const AGENT_DIRECTORY = '/run/palisade'
/**
 * Empty objects inside the view, from which the live guard makes further masks. The view of the
 * guard has no host paths.
 */
export const INNER_EMPTY_FILE = SANDBOX_MARK
export const INNER_EMPTY_DIRECTORY = `${AGENT_DIRECTORY}/empty-dir`

/** On most systems these are links into `/usr`; elsewhere they are directories. */
const SYSTEM_DIRECTORIES = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'] as const

/** Files that the agent writes, because those of the host would show other users and networks. */
export const WRITTEN_SETTINGS = [
  'resolv.conf',
  'hosts',
  'hostname',
  'passwd',
  'group',
  'nsswitch.conf',
] as const

/**
 * The file system without any workspace: only the system's programs and the settings above,
 * read-only, and private places that end with the sandbox.
 */
export function planRootView(deps: RootViewDeps): readonly Mount[] {
  const { disk, home, isOptAllowed, privateBytes: size } = deps
  const readOnly = (path: string): Mount => bind(path, path)
  const root: readonly Mount[] = [
    readOnly('/usr'),
    ...SYSTEM_DIRECTORIES.flatMap((path) => planAsOnHost(path, disk)),
    ...(isOptAllowed && disk.status('/opt')?.kind === 'directory' ? [readOnly('/opt')] : []),
    { kind: 'dir', target: '/etc' },
    ...systemSettings(disk).flatMap((name) => planAsOnHost(`/etc/${name}`, disk)),
    { kind: 'symlink', target: '/etc/mtab', to: '/proc/self/mounts' },
    ...WRITTEN_SETTINGS.map((name) => bind(`${deps.systemFiles}/${name}`, `/etc/${name}`)),
    { kind: 'proc', target: '/proc' },
    { kind: 'dev', target: '/dev' },
    { kind: 'tmpfs', target: '/dev/shm', size, mode: 0o1777 },
    { kind: 'tmpfs', target: '/tmp', size, mode: 0o1777 },
    { kind: 'tmpfs', target: '/var/tmp', size, mode: 0o1777 },
    { kind: 'tmpfs', target: '/run', size, mode: 0o755 },
    { kind: 'symlink', target: '/var/run', to: '/run' },
    { kind: 'dir', target: AGENT_DIRECTORY },
    { kind: 'empty-file', target: INNER_EMPTY_FILE },
    { kind: 'empty-dir', target: INNER_EMPTY_DIRECTORY },
    { kind: 'tmpfs', target: home, size, mode: 0o700 },
  ]
  return [...root, ...planClient(root, deps)]
}

/** The command line at its own paths, where project files name it, and in the `PATH` inside. */
function planClient(
  root: readonly Mount[],
  { client, workspaces }: Pick<RootViewDeps, 'client' | 'workspaces'>,
): readonly Mount[] {
  if (client === null) return []
  const shown = root.flatMap((mount) => (mount.kind === 'bind' ? [mount.target] : []))
  const hidden = client.paths.filter(
    (path) => ![...shown, ...workspaces].some((each) => isWithin(path, each)),
  )
  return [
    ...hidden.map((path) => bind(path, path)),
    bind(client.script, `${SANDBOX_PROGRAMS}/palisade`),
  ]
}

/** A link is made anew, so that it leads where it leads on the host, if that is in the view. */
function planAsOnHost(path: string, disk: ViewDisk): Mount[] {
  const found = disk.status(path)
  if (found === null || found.kind === 'special') return []
  if (found.kind === 'link') return [{ kind: 'symlink', target: path, to: disk.readLink(path) }]
  return [bind(path, path)]
}

function bind(source: string, target: string): Mount {
  return { kind: 'bind', source, target, access: 'ro' }
}
