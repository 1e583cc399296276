import type { PathDenies } from '@palisade/policy-core'
import { basename, dirname, join } from 'node:path'
import { realPathOrNull, type ViewDisk } from '../view/disk.ts'
import { restrictionOf, type RestrictedPath } from '../view/path-restriction.ts'
import { planMasks } from '../view/masks.ts'
import { isWithin } from '../view/mount-table.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import type { StageView } from '../view/view-plan.ts'
import type { Workspace } from '../view/workspace.ts'
import { makeLayers } from './make-layers.ts'
import { mountLayers } from './mount-layers.ts'
import { layersOf, type StagedSession } from './staged-session.ts'

export interface Staging {
  /** The directory of the session, which does not exist yet. */
  readonly directory: string
  readonly holderPid: number
  readonly disk: ViewDisk
  readonly session: Omit<StagedSession, 'version' | 'workspaces'>
}

/**
 * Returns the function that makes the overlays of a strict sandbox. Denied names are hidden by
 * whiteouts, whichever object has the name; changes stay in a layer of the agent.
 */
export function createStage(staging: Staging): StageView {
  const { directory, disk, session } = staging
  return async (workspaces, { restricted, tree, denies, ends }) => {
    refuseUnstageable(workspaces, tree.unfound)
    const isInside = ({ path }: Pick<RestrictedPath, 'path'>): boolean =>
      workspaces.some((workspace) => isWithin(path, workspace.path))
    const hidden = [
      ...restricted.filter(isInside),
      ...tree.hiddenLinks.map((path) => ({ path })),
      ...missingNames(denies, disk).filter(isInside),
    ]
    refuseNested(workspaces, hidden)
    const staged = workspaces.map(({ path, access, device, inode, aliases }) => ({
      path,
      access,
      device,
      inode,
      aliases: [...aliases],
    }))
    const guarded = [...(session.guarded ?? []), ...ends]
    await makeLayers(directory, { version: 1, ...session, workspaces: staged, guarded }, hidden)
    const binds = await mountLayers(directory, staged, staging)
    return {
      mounts: staged.map(({ path, access }, index) => ({
        kind: 'bind',
        source: layersOf(directory, index).merged,
        target: path,
        access,
      })),
      masks: planMasks(
        [],
        restricted.filter((each) => !isInside(each)),
      ),
      binds: binds.map((bind, index) => ({ ...bind, isReadOnly: staged[index]?.access === 'ro' })),
      absent: new Set(hidden.map(({ path }) => path)),
    }
  }
}

/** A part that the overlay would not show, or would show under another name. */
function refuseUnstageable(workspaces: readonly Workspace[], unfound: readonly string[]): void {
  for (const { path, mounted } of workspaces) {
    const [mount] = mounted.keys()
    if (mount !== undefined)
      throw new ViewRefusal(
        `the workspace ${quotePath(path)} contains the mount ${quotePath(mount)}, which cannot ` +
          'be staged; choose another directory, or run without `--strict`',
      )
  }
  const [first] = unfound
  if (first !== undefined)
    throw new ViewRefusal(`${first}; a strict sandbox needs all of them in the workspaces`)
}

function refuseNested(
  workspaces: readonly Workspace[],
  hidden: readonly Pick<RestrictedPath, 'path'>[],
): void {
  for (const { path } of hidden) {
    const inside = workspaces.find((workspace) => isWithin(workspace.path, path))
    if (inside !== undefined)
      throw new ViewRefusal(
        `the workspace ${quotePath(inside.path)} lies in ${quotePath(path)}, which policy ` +
          'denies; choose a directory outside of it',
      )
  }
}

/** Denied names without a wildcard that do not exist yet, in directories that do. */
function missingNames(denies: PathDenies, disk: ViewDisk): readonly Pick<RestrictedPath, 'path'>[] {
  return denies.literals.flatMap((literal) => {
    if (literal === '/' || restrictionOf(denies.at(literal).denies) !== 'hidden') return []
    const directory = realPathOrNull(disk, dirname(literal))
    // Below a file there is no name, and a directory in the mask would hide the file.
    if (directory === null || disk.status(directory)?.kind !== 'directory') return []
    return [{ path: join(directory, basename(literal)) }]
  })
}
