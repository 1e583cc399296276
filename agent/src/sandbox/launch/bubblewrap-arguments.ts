import { KERNEL_SETTINGS, type Mount } from '../view/mount.ts'

/** Everything about one sandbox that bubblewrap is told, but for the command. */
export interface BubblewrapPlan {
  /** The user and group that the command sees as its own. */
  readonly uid: number
  readonly gid: number
  readonly hostname: string
  /** Made in this order. */
  readonly mounts: readonly Mount[]
  /** Absolute path inside. */
  readonly cwd: string
  /** All variables that bubblewrap adds to its own environment. */
  readonly variables: ReadonlyMap<string, string>
  /** An empty file and an empty directory of the agent, with which names are masked. */
  readonly emptyFile: string
  readonly emptyDirectory: string
  /** Descriptors that the trampoline opens. */
  readonly seccompFd: number
  /** The command waits until a byte can be read from it. */
  readonly gateFd: number
  /** Gets a JSON object with `child-pid` and the inodes of the namespaces. */
  readonly infoFd: number
}

/**
 * The file that `bwrap --args FD` reads: each argument ends with a NUL. Variables are in it and not
 * in the environment of bubblewrap, which every process of the sandbox can read, and which the
 * loader of bubblewrap, outside the sandbox, obeys.
 *
 * Throws a `RangeError` for a text with a NUL, which would start an argument of its own.
 */
export function encodeBubblewrapArguments(plan: BubblewrapPlan): Buffer {
  const words = [
    ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ['--uid', String(plan.uid), '--gid', String(plan.gid), '--hostname', plan.hostname],
    ['--disable-userns', '--cap-drop', 'ALL', '--die-with-parent'],
    ...plan.mounts.map((mount) => formatMount(mount, plan)),
    // These are in memory without a limit of their size.
    ...unlimitedMounts(plan.mounts).flatMap((path) => ['--remount-ro', path]),
    ['--chdir', plan.cwd],
    ...[...plan.variables].map(([name, value]) => ['--setenv', name, value]),
    ['--seccomp', String(plan.seccompFd), '--block-fd', String(plan.gateFd)],
    ['--info-fd', String(plan.infoFd)],
  ].flat()
  const broken = words.find((word) => word.includes('\0'))
  if (broken !== undefined) throw new RangeError(`\`${broken}\` has a NUL character`)
  return Buffer.from(words.map((word) => `${word}\0`).join(''))
}

/** The devices, whose directories have limits of their own or hold devices alone, and the root. */
function unlimitedMounts(mounts: readonly Mount[]): readonly string[] {
  return [...mounts.flatMap(({ kind, target }) => (kind === 'dev' ? [target] : [])), '/']
}

function formatMount(mount: Mount, { emptyFile, emptyDirectory }: BubblewrapPlan): string[] {
  switch (mount.kind) {
    case 'bind':
      return [mount.access === 'ro' ? '--ro-bind' : '--bind', mount.source, mount.target]
    case 'tmpfs':
      return [...formatMode(mount.mode), ...formatSize(mount.size), '--tmpfs', mount.target]
    case 'dir':
      return ['--dir', mount.target]
    case 'symlink':
      return ['--symlink', mount.to, mount.target]
    case 'empty-file':
      return ['--ro-bind', emptyFile, mount.target]
    case 'empty-dir':
      return ['--ro-bind', emptyDirectory, mount.target]
    case 'proc':
      return ['--proc', mount.target, ...formatReadOnly(mount.target)]
    case 'dev':
      return ['--dev', mount.target]
  }
}

/**
 * The kernel asks for no capability where root of the machine writes a setting of the kernel, so a
 * sandbox of root could name the program that dumps core. Bubblewrap covers others by itself.
 */
function formatReadOnly(proc: string): string[] {
  return KERNEL_SETTINGS.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `${proc}/${name}`])
}

function formatMode(mode: number | undefined): string[] {
  return mode === undefined ? [] : ['--perms', mode.toString(8)]
}

function formatSize(size: number | undefined): string[] {
  return size === undefined ? [] : ['--size', String(size)]
}
