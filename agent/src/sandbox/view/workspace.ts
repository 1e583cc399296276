import { MAX_WORKSPACES } from '@palisade/protocol'
import type { FilesystemAction, PathDenies } from '@palisade/policy-core'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { systemErrorCode } from '../../host/errors.ts'
import { realPathOrNull, unlessMissing, type ViewDisk } from './disk.ts'
import { isContentGranted, type TreeRules } from './granted-tree.ts'
import { actionsOf } from './path-restriction.ts'
import {
  aliasesOf,
  isWithin,
  join,
  mountsBelow,
  parseMountTable,
  type MountEntry,
} from './mount-table.ts'
import { hasInvalidBytes, quotePath, ViewRefusal } from './view-refusal.ts'

export interface WorkspaceRequest {
  /** Absolute; it may have symbolic links, `..` and a final `/`. */
  readonly path: string
  readonly access: 'ro' | 'rw'
}

/** A directory of the host that policy opens to a sandbox, at its real path. */
export interface Workspace extends WorkspaceRequest {
  readonly device: number
  readonly inode: number
  /** Other paths of the same directory, through bind mounts. */
  readonly aliases: readonly string[]
  /** The mounts below it, each with the other paths of its object. */
  readonly mounted: ReadonlyMap<string, readonly string[]>
  /** Whether changes are kept apart and copied out later. Then `access` is `ro`. */
  readonly isStaged?: boolean
}

export interface WorkspaceDeps {
  readonly disk: Pick<ViewDisk, 'realPath' | 'status' | 'mountTable'>
  readonly active: TreeRules
  /** Called with the decision on each workspace and action; a deny is also for what is in it. */
  readonly onDecision?: ((decision: MachineDecision) => void) | undefined
  /** The home directory of the user. It and directories above it are refused. */
  readonly home: string
  /**
   * The agent's data, state and runtime directories and its socket. They are refused with all
   * directories above and below them.
   */
  readonly privatePaths: readonly string[]
}

/** Directories that the root view makes itself; a workspace must not be or contain one. */
const SYSTEM = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/proc',
  '/run',
  '/sbin',
  '/sys',
  '/tmp',
  '/usr',
  '/var/run',
  '/var/tmp',
]
/** Directories of the kernel, below which nothing is a workspace either. */
const KERNEL = ['/dev', '/proc', '/sys']
const KERNEL_TYPES = new Set(['proc', 'sysfs', 'devpts', 'devtmpfs', 'cgroup', 'cgroup2', 'bpf'])

/**
 * Finds the real directory of each request and asks policy for it. Returns them with parents before
 * children, each directory once. Throws `ViewRefusal` that names the workspace and the reason.
 */
export function resolveWorkspaces(
  requests: readonly WorkspaceRequest[],
  deps: WorkspaceDeps,
): readonly Workspace[] {
  if (requests.length > MAX_WORKSPACES)
    throw new ViewRefusal(`a sandbox has at most ${MAX_WORKSPACES} workspaces`)
  const table = parseMountTable(deps.disk.mountTable())
  const byPath = new Map<string, Workspace>()
  for (const request of requests) {
    const workspace = resolveWorkspace(request, table, deps)
    const twin = byPath.get(workspace.path)
    if (twin !== undefined && twin.access !== workspace.access)
      throw new ViewRefusal(
        `the workspace ${quotePath(workspace.path)} is given as \`ro\` and as \`rw\`; give it once`,
      )
    byPath.set(workspace.path, workspace)
  }
  return [...byPath.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** The other paths of an object in the workspace, through bind mounts of the workspace. */
export function otherPaths(
  { aliases, path: root }: Pick<Workspace, 'path' | 'aliases'>,
  path: string,
): readonly string[] {
  return aliases.map((alias) => join(alias, path.slice(root.length)))
}

/** Whether a rule denies to read the path in the workspace, or another path of the same object. */
export function isReadDenied(
  { at }: Pick<PathDenies, 'at'>,
  workspace: Pick<Workspace, 'path' | 'aliases'>,
  path: string,
): boolean {
  return [path, ...otherPaths(workspace, path)].some((each) => at(each).denies.read)
}

function resolveWorkspace(
  request: WorkspaceRequest,
  table: readonly MountEntry[],
  deps: WorkspaceDeps,
): Workspace {
  const { access } = request
  const path = realPathOf(request, deps)
  refuseReserved(path, deps)
  const status = deps.disk.status(path)
  if (status?.kind !== 'directory')
    throw new ViewRefusal(`the workspace ${quotePath(path)} is not a directory`)
  const aliases = aliasesOf(table, path)
  requireAllowed(path, aliases, access, deps)
  const below = mountsBelow(table, path)
  const kernel = below.find(({ type }) => KERNEL_TYPES.has(type))
  if (kernel !== undefined)
    throw new ViewRefusal(
      `the workspace ${quotePath(path)} contains the ${kernel.type} mount ` +
        `${quotePath(kernel.target)}; choose another directory`,
    )
  const mounted = new Map(below.map(({ target }) => [target, aliasesOf(table, target)]))
  return { path, access, device: status.device, inode: status.inode, aliases, mounted }
}

function realPathOf({ path }: WorkspaceRequest, { disk }: WorkspaceDeps): string {
  const real = readRealPath(path, disk)
  if (real === undefined)
    throw new ViewRefusal(`the workspace ${quotePath(path)} does not exist; create it first`)
  if (hasInvalidBytes(real))
    throw new ViewRefusal(
      `the workspace ${quotePath(real)} is not UTF-8, so no rule can name it; rename it`,
    )
  return real.toString('utf8')
}

function readRealPath(path: string, disk: WorkspaceDeps['disk']): Buffer | undefined {
  try {
    return unlessMissing(() => disk.realPath(path))
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    throw new ViewRefusal(`the workspace ${quotePath(path)} cannot be reached (${code})`, error)
  }
}

function refuseReserved(path: string, { disk, home, privatePaths }: WorkspaceDeps): void {
  const realOf = (each: string): string => realPathOrNull(disk, each) ?? each
  const refuse = (reserved: string): never => {
    const what = path === reserved ? 'is' : isWithin(path, reserved) ? 'is inside' : 'contains'
    throw new ViewRefusal(
      `the workspace ${quotePath(path)} ${what} ${quotePath(reserved)}, which a sandbox must not ` +
        'see; choose a directory of the project',
    )
  }
  if (path === '/') refuse('/')
  for (const reserved of [realOf(home), ...SYSTEM]) if (isWithin(reserved, path)) refuse(reserved)
  for (const reserved of KERNEL) if (isWithin(path, reserved)) refuse(reserved)
  for (const reserved of privatePaths.map(realOf))
    if (isWithin(reserved, path) || isWithin(path, reserved)) refuse(reserved)
}

function requireAllowed(
  path: string,
  aliases: readonly string[],
  access: WorkspaceRequest['access'],
  { active, onDecision }: WorkspaceDeps,
): void {
  for (const action of actionsOf(access)) {
    const made = active.decide({ action, path })
    const { decision, reason } = made
    const isGranted = decision === 'allow' && isContentGranted(active, action, path)
    const isOpen = reason === 'default_deny' || (decision === 'allow' && !isGranted)
    onDecision?.(isOpen ? refuseTree(made, action, path) : made)
    if (decision !== 'allow')
      throw new ViewRefusal(
        `policy denies \`${action}\` on the workspace ${quotePath(path)} (${reason})` +
          correction(action, path, reason),
      )
    if (!isGranted)
      throw new ViewRefusal(
        `policy allows \`${action}\` on the workspace ${quotePath(path)} itself and not on all ` +
          `that is in it${correction(action, path, 'default_deny')}`,
      )
    for (const alias of aliases) {
      const other = active.decide({ action, path: alias })
      if (other.decision === 'deny' && other.reason !== 'default_deny')
        throw new ViewRefusal(
          `policy denies \`${action}\` on ${quotePath(alias)} (${other.reason}), and the ` +
            `workspace ${quotePath(path)} is the same directory`,
        )
    }
  }
}

/** No rule allows the directory with everything below it. */
function refuseTree(
  made: MachineDecision,
  action: FilesystemAction,
  path: string,
): MachineDecision {
  // A `*` of the path would stand for other names.
  const hint = path.includes('*') ? null : `allow ${action} ${path}/**`
  return { ...made, decision: 'deny', reason: 'default_deny', rules: [], hint }
}

function correction(action: FilesystemAction, path: string, reason: string): string {
  const isChange = !actionsOf('ro').includes(action)
  const other = isChange ? `; write ${quotePath(`${path}:ro`)} to read it only, or` : ';'
  if (reason === 'default_deny')
    return `${other} ask an editor of the policy for ${quotePath(`allow ${action} ${path}/**`)}`
  return isChange ? `${other} choose another directory` : '; choose another directory'
}
