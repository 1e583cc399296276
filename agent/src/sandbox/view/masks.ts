import type { RestrictedPath, Restriction } from './path-restriction.ts'
import { isWithin } from './mount-table.ts'
import type { Mount } from './mount.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import type { Workspace } from './workspace.ts'

/** A directory of the host that the sandbox sees; parents come before children. */
export type Area = Pick<Workspace, 'path' | 'access'>

/** The most masks that a sandbox starts with. */
export const MAX_MASKS = 2000
/**
 * The most of them that bubblewrap makes, because its time grows with their square. The live guard
 * makes the others before the command begins.
 */
export const MAX_FIRST_MASKS = 100

const STRENGTH: Readonly<Record<Restriction, number>> = { pinned: 0, 'read-only': 1, hidden: 2 }

/**
 * Reduces restricted paths to those that need a mount: inside an area, one for each path with the
 * strongest restriction, and not below a path that hides them. Parents come before children.
 */
export function reduceRestrictions(
  areas: readonly Area[],
  restricted: readonly RestrictedPath[],
): readonly RestrictedPath[] {
  const strongest = new Map<string, RestrictedPath>()
  for (const each of restricted) {
    if (!needsMount(areas, each)) continue
    const known = strongest.get(each.path)
    if (known === undefined || STRENGTH[each.level] > STRENGTH[known.level])
      strongest.set(each.path, each)
  }
  const roots = new Set(areas.map(({ path }) => path))
  const kept = new Map<string, RestrictedPath>()
  for (const each of [...strongest.values()].toSorted(byPath))
    if (!isCovered(each, kept, roots)) kept.set(each.path, each)
  return [...kept.values()]
}

/** Whether a mask above does for the path, with no workspace of its own between. */
function isCovered(
  { level, path }: RestrictedPath,
  kept: ReadonlyMap<string, RestrictedPath>,
  roots: ReadonlySet<string>,
): boolean {
  for (let at = path; at !== '' && !roots.has(at);) {
    at = at.slice(0, at.lastIndexOf('/'))
    const above = kept.get(at)?.level
    if (above === 'hidden' || (above === 'read-only' && level !== 'hidden')) return true
  }
  return false
}

/**
 * The mounts of the workspaces and of their first masks, parents before children. Throws
 * `ViewRefusal` for a workspace below a hidden path, and for more than `MAX_MASKS` masks.
 */
export function planMasks(
  workspaces: readonly Workspace[],
  reduced: readonly RestrictedPath[],
): readonly Mount[] {
  for (const { path, level } of reduced) {
    const inside = workspaces.find((workspace) => isWithin(workspace.path, path))
    if (inside !== undefined && level === 'hidden')
      throw new ViewRefusal(
        `the workspace ${quotePath(inside.path)} lies in ${quotePath(path)}, which policy ` +
          'denies; choose a directory outside of it',
      )
  }
  if (reduced.length > MAX_MASKS) throw new ViewRefusal(describeExcess(reduced))
  // They are in the order of their paths, so no mask comes without those above it.
  const first = reduced.slice(0, MAX_FIRST_MASKS)
  const binds = workspaces.map(({ path, access }) => ({ path, mount: bind(path, access) }))
  const masks = first.map((restricted) => ({ path: restricted.path, mount: maskOf(restricted) }))
  // The sort is stable: a mask of a workspace itself comes after its bind.
  return [...binds, ...masks].toSorted(byPath).map(({ mount }) => mount)
}

/** The mount that holds a path. */
export function maskOf({ path, level, kind }: RestrictedPath): Mount {
  if (level === 'pinned') return bind(path, 'rw')
  if (level === 'read-only') return bind(path, 'ro')
  return { kind: kind === 'directory' ? 'empty-dir' : 'empty-file', target: path }
}

function bind(path: string, access: 'ro' | 'rw'): Mount {
  return { kind: 'bind', source: path, target: path, access }
}

/** A path in a read-only workspace needs no mount against writing. */
function needsMount(areas: readonly Area[], { path, level }: RestrictedPath): boolean {
  const area = areas.findLast((each) => isWithin(path, each.path))
  return area !== undefined && (level === 'hidden' || area.access === 'rw')
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path === b.path ? 0 : a.path < b.path ? -1 : 1
}

/** Names the directory with most of the masks, and counts the masks by their cause. */
function describeExcess(reduced: readonly RestrictedPath[]): string {
  const counts = new Map<string, number>()
  for (const { path } of reduced) {
    const parent = path.slice(0, path.lastIndexOf('/')) || '/'
    counts.set(parent, (counts.get(parent) ?? 0) + 1)
  }
  const [[fullest, count] = ['/', 0]] = [...counts].toSorted((a, b) => b[1] - a[1])
  const denied = reduced.filter(({ isDenied }) => isDenied).length
  const others = reduced.length - denied
  return (
    `${reduced.length} single paths in the workspaces are to be held, and at most ${MAX_MASKS} ` +
    `can be: ${denied} that policy denies, and ${others} guarded names, repositories and ` +
    `directories above; most are in ${quotePath(fullest)} (${count}): choose a workspace without ` +
    `them, or ask an editor of the policy ${correctionOf(denied > others, fullest)}`
  )
}

function correctionOf(isDenied: boolean, directory: string): string {
  return isDenied
    ? `to deny ${quotePath(`${directory}/**`)}`
    : 'for `allow write` with a pattern that spells the guarded name'
}
