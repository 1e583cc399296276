import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { ExpectedBind } from '../view/compare-mounts.ts'
import type { ViewDisk } from '../view/disk.ts'
import { devicePathOf, parseMountTable, type MountEntry } from '../view/mount-table.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import { layersOf, type StagedWorkspace } from './staged-session.ts'

const run = promisify(execFile)

/** The system's own programs, and English messages. */
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
const TIMEOUT_MS = 20_000
const MAX_COMPLAINT = 300

/**
 * Mounts the layers of one workspace after another, in the directory of the session. Layers are
 * given by relative names, because the kernel reads `:` and `,` of a path as separators.
 *
 * A redirect would show the objects of another name: the mark is an attribute that a command of an
 * earlier sandbox may have set in the workspace, so it is not followed.
 */
const MOUNT_LAYERS = String.raw`
cd -- "$1" || exit
shift
options=userxattr,redirect_dir=nofollow,index=off,metacopy=off
index=0
while [ $# -gt 0 ]; do
  ( cd "$index" || exit
    mount -n --bind -- "$2" lower || exit
    case $1 in
      rw) layers=lowerdir=mask:lower,upperdir=upper,workdir=work ;;
      *) layers=lowerdir=mask:lower ;;
    esac
    mount -n -t overlay -o "nosuid,nodev,$options,$layers" palisade merged
  ) || exit
  index=$((index + 1))
  shift 2
done
`

/**
 * Makes the overlays in the mount namespace of the holder, where no program outside sees them.
 * Returns the mounts that the sandbox shows at the paths of the workspaces. Rejects with
 * `ViewRefusal` where this machine has no such overlays, and for a workspace that was replaced.
 */
export async function mountLayers(
  directory: string,
  workspaces: readonly StagedWorkspace[],
  deps: { readonly holderPid: number; readonly disk: ViewDisk },
): Promise<readonly ExpectedBind[]> {
  const { holderPid, disk } = deps
  const enter = ['-t', String(holderPid), '-U', '-m', '--preserve-credentials', '--']
  const words = workspaces.flatMap(({ path, access }) => [access, path])
  try {
    await run('nsenter', [...enter, 'sh', '-c', MOUNT_LAYERS, 'palisade', directory, ...words], {
      env: ENVIRONMENT,
      cwd: '/',
      timeout: TIMEOUT_MS,
    })
  } catch (error) {
    throw new ViewRefusal(
      `the workspace cannot be staged: ${complaintOf(error)}; \`--strict\` needs Linux 5.11 or ` +
        'later, and a workspace and a data directory on file systems that overlayfs takes: run ' +
        '`palisade doctor`, or run without `--strict`',
      error,
    )
  }
  const root = `/proc/${holderPid}/root`
  const inside = parseMountTable(readFileSync(`/proc/${holderPid}/mountinfo`))
  const host = parseMountTable(disk.mountTable())
  return workspaces.map((workspace, index) => {
    const { lower, merged } = layersOf(directory, index)
    requireSame(workspace, mountAt(inside, lower), disk.status(`${root}${lower}`), host)
    const overlay = mountAt(inside, merged)
    const status = disk.status(`${root}${merged}`)
    if (overlay?.type !== 'overlay' || status === null)
      throw new ViewRefusal(`the workspace ${quotePath(workspace.path)} could not be staged`)
    return {
      device: overlay.device,
      root: overlay.root,
      target: workspace.path,
      isReadOnly: false,
      identity: `${status.device}:${status.inode}`,
    }
  })
}

function mountAt(table: readonly MountEntry[], path: string): MountEntry | undefined {
  return table.findLast(({ target }) => target === path)
}

/** The lower layer must be the directory that policy was asked for. */
function requireSame(
  { path, device, inode }: StagedWorkspace,
  lower: MountEntry | undefined,
  status: ReturnType<ViewDisk['status']>,
  host: readonly MountEntry[],
): void {
  const expected = devicePathOf(host, path)
  const isSame =
    expected !== null &&
    lower?.device === expected.device &&
    lower.root === expected.root &&
    status?.device === device &&
    status.inode === inode
  if (!isSame)
    throw new ViewRefusal(`the workspace ${quotePath(path)} was replaced after it was checked`)
}

function complaintOf(error: unknown): string {
  const text =
    typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : ''
  const [line = ''] = text.trim().split('\n')
  return line === '' ? 'the mounts did not succeed' : line.slice(0, MAX_COMPLAINT)
}
