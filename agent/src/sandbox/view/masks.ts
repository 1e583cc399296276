import type { HeldPath, Hold } from './held-path.ts'
import { isWithin } from './mount-table.ts'
import type { Mount } from './mount.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import type { Workspace } from './workspace.ts'

/** A directory of the host that the sandbox sees; parents come before children. */
export type Area = Pick<Workspace, 'path' | 'access'>

/** The most masks of a sandbox, because the time of bubblewrap grows with their square. */
export const MAX_MASKS = 200

const STRENGTH: Readonly<Record<Hold, number>> = { pinned: 0, 'read-only': 1, hidden: 2 }

/**
 * Reduces the findings to those that need a mount: inside an area, one for each path with the
 * strongest hold, and not below a path that hides them. Parents come before children.
 */
export function reduceHolds(
  areas: readonly Area[],
  held: readonly HeldPath[],
): readonly HeldPath[] {
  const strongest = new Map<string, HeldPath>()
  for (const each of held) {
    if (!needsMount(areas, each)) continue
    const known = strongest.get(each.path)
    if (known === undefined || STRENGTH[each.hold] > STRENGTH[known.hold])
      strongest.set(each.path, each)
  }
  const roots = new Set(areas.map(({ path }) => path))
  const kept = new Map<string, HeldPath>()
  for (const each of [...strongest.values()].toSorted(byPath))
    if (!isCovered(each, kept, roots)) kept.set(each.path, each)
  return [...kept.values()]
}

/** Whether a mask above does for the path, with no workspace of its own between. */
function isCovered(
  { hold, path }: HeldPath,
  kept: ReadonlyMap<string, HeldPath>,
  roots: ReadonlySet<string>,
): boolean {
  for (let at = path; at !== '' && !roots.has(at);) {
    at = at.slice(0, at.lastIndexOf('/'))
    const above = kept.get(at)?.hold
    if (above === 'hidden' || (above === 'read-only' && hold !== 'hidden')) return true
  }
  return false
}

/**
 * The mounts of the workspaces and of their masks, parents before children. Throws `ViewRefusal`
 * for a workspace below a hidden path, and for more than `MAX_MASKS` masks.
 */
export function planMasks(
  workspaces: readonly Workspace[],
  reduced: readonly HeldPath[],
): readonly Mount[] {
  for (const { path, hold } of reduced) {
    const inside = workspaces.find((workspace) => isWithin(workspace.path, path))
    if (inside !== undefined && hold === 'hidden')
      throw new ViewRefusal(
        `the workspace ${quotePath(inside.path)} lies in ${quotePath(path)}, which policy ` +
          'denies; choose a directory outside of it',
      )
  }
  if (reduced.length > MAX_MASKS) throw new ViewRefusal(describeExcess(reduced))
  const binds = workspaces.map(({ path, access }) => ({ path, mount: bind(path, access) }))
  const masks = reduced.map((held) => ({ path: held.path, mount: maskOf(held) }))
  // The sort is stable: a mask of a workspace itself comes after its bind.
  return [...binds, ...masks].toSorted(byPath).map(({ mount }) => mount)
}

/** The mount that holds a path. */
export function maskOf({ path, hold, kind }: HeldPath): Mount {
  if (hold === 'pinned') return bind(path, 'rw')
  if (hold === 'read-only') return bind(path, 'ro')
  return { kind: kind === 'directory' ? 'empty-dir' : 'empty-file', target: path }
}

function bind(path: string, access: 'ro' | 'rw'): Mount {
  return { kind: 'bind', source: path, target: path, access }
}

/** A path in a read-only workspace needs no mount against writing. */
function needsMount(areas: readonly Area[], { path, hold }: HeldPath): boolean {
  const area = areas.findLast((each) => isWithin(path, each.path))
  return area !== undefined && (hold === 'hidden' || area.access === 'rw')
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path === b.path ? 0 : a.path < b.path ? -1 : 1
}

/** Names the directory with most of the masks, which one rule could deny as a whole. */
function describeExcess(reduced: readonly HeldPath[]): string {
  const counts = new Map<string, number>()
  for (const { path } of reduced) {
    const parent = path.slice(0, path.lastIndexOf('/')) || '/'
    counts.set(parent, (counts.get(parent) ?? 0) + 1)
  }
  const [[fullest, count] = ['/', 0]] = [...counts].toSorted((a, b) => b[1] - a[1])
  return (
    `policy denies ${reduced.length} single paths in the workspaces, and at most ${MAX_MASKS} ` +
    `can be hidden; most are in ${quotePath(fullest)} (${count}): choose a workspace without ` +
    `them, or ask an editor of the policy to deny ${quotePath(`${fullest}/**`)}`
  )
}
