import type { CompiledPolicy, PathDenies, Steps } from '@palisade/policy-core'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { runInTurns } from '../../policy/decision/run-in-turns.ts'
import { planCallerLinks } from './caller-links.ts'
import { expectMounts, type ExpectedBind, type ExpectedMounts } from './compare-mounts.ts'
import { realPathOrNull, type ViewDisk } from './disk.ts'
import type { InvalidDirectory, WalkDeps } from './walk-deps.ts'
import { isTreeGranted } from './granted-tree.ts'
import { guardedEnds } from './guarded-ends.ts'
import { refuseGuardedDirectories } from './guarded-directories.ts'
import { guardedPaths, openedByRule } from './guarded-names.ts'
import type { RestrictedPath } from './path-restriction.ts'
import type { FoundHidden, HiddenObjects } from './hidden-objects.ts'
import { linkedFiles, searchLinks } from './hard-links.ts'
import { exactRestrictions } from './exact-restrictions.ts'
import type { GuardedView } from './guarded-view.ts'
import { planMasks, reduceRestrictions, type Area } from './masks.ts'
import type { Mount } from './mount.ts'
import { pinAncestors } from './pin-ancestors.ts'
import { planPlaceholders } from './placeholder-plan.ts'
import type { Placeholders } from './placeholders.ts'
import { partsOfRepositories } from './repository-parts.ts'
import { planRootView } from './root-view.ts'
import type { ViewObjects } from './view-objects.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import { WALK_LIMITS, walkWorkspace, type WalkedTree } from './walk.ts'
import {
  resolveWorkspaces,
  type Workspace,
  type WorkspaceDeps,
  type WorkspaceRequest,
} from './workspace.ts'

/** The file system of one sandbox. */
export interface ViewPlan {
  /** In the order in which they are made. */
  readonly mounts: readonly Mount[]
  /** For the comparison before the command starts. */
  readonly expected: ExpectedMounts
  /** For the live guard. */
  readonly guarded: GuardedView
  readonly walk: WalkDeps
  /** The policy that the view follows. */
  readonly rule: ReturnType<ActivePolicy['enforced']>
  /** Sentences for people about denies that are held only in part. */
  readonly warnings: readonly string[]
  /** Gives up the placeholders. Call it when the sandbox has ended, or was not started. */
  readonly release: () => Promise<void>
}

export interface ViewRequest {
  readonly workspaces: readonly WorkspaceRequest[]
  /** The home directory of the user. */
  readonly home: string
  /** Bytes that each private file system may hold. */
  readonly privateBytes: number
  /** See `SandboxRequest`. */
  readonly guarded?: readonly string[]
}

export interface ViewPlanDeps {
  readonly active: Pick<ActivePolicy, 'decide' | 'enforced'>
  readonly disk: ViewDisk
  readonly objects: ViewObjects
  readonly placeholders: Placeholders
  /** Shared by all sandboxes. */
  readonly hidden: HiddenObjects
  readonly deniesOf: (policy: CompiledPolicy) => PathDenies
  /** The agent's data, state and runtime directories and its socket. */
  readonly privatePaths: readonly string[]
  /** Monotonic, and wall time, in milliseconds. */
  readonly uptime: () => number
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onDecision?: WorkspaceDeps['onDecision']
  /** For a strict sandbox: mounts the workspaces so that changes of the command are kept apart. */
  readonly stage?: StageView
}

/** Makes the overlays of a strict sandbox. Rejects with `ViewRefusal`. */
export type StageView = (
  workspaces: readonly Workspace[],
  found: {
    readonly restricted: readonly RestrictedPath[]
    readonly tree: Pick<RestrictedTree, 'hiddenLinks' | 'unfound'>
    readonly denies: PathDenies
    /** See `guardedEnds`. */
    readonly ends: readonly string[]
  },
) => Promise<{
  /** Binds of the overlays, and masks beside the workspaces. */
  readonly mounts: readonly Mount[]
  readonly masks: readonly Mount[]
  readonly binds: readonly ExpectedBind[]
  /** Paths whose names the overlays hide, with all below them. */
  readonly absent: ReadonlySet<string>
}>

/** The restricted paths in all workspaces. */
export interface RestrictedTree extends Omit<WalkedTree, 'entries'> {
  /** See `GuardedView`. */
  readonly hidden: readonly string[]
  /** Sentences about denied files with other names that were not found. */
  readonly unfound: readonly string[]
}

/** A command changes its own layer only, so the view of the workspace is read-only. */
function asStaged(workspace: Workspace): Workspace {
  return { ...workspace, access: 'ro', isStaged: workspace.access === 'rw' }
}

/**
 * Plans the view of a sandbox: asks policy for every workspace, finds all denied paths in them, and
 * lists the mounts. Rejects with `ViewRefusal` when policy does not open the view, or when a deny
 * could not be held; a part of a view is never planned.
 */
export async function planView(request: ViewRequest, deps: ViewPlanDeps): Promise<ViewPlan> {
  const { active, disk, now, placeholders } = deps
  const walkedMs = now()
  const rule = active.enforced()
  if (rule.kind === 'nothing')
    throw new ViewRefusal(`no policy is in force (${rule.reason}), so no sandbox can start`)
  const denies = deps.deniesOf(rule.bundle.compiled)
  const permitted = resolveWorkspaces(request.workspaces, { ...deps, ...request })
  const workspaces = deps.stage === undefined ? permitted : permitted.map(asStaged)
  const walk = createWalkDeps(denies, guardedPaths(request.guarded), deps)
  // A warning tells of a workspace that settings of git name.
  refuseGuardedDirectories(permitted, { ...walk, guarded: guardedPaths() })
  const tree = await findRestricted(workspaces, walk, deps)
  const guarded = partsOfRepositories(tree.restricted, walk)
  const missing = await inTurns(
    planPlaceholders(workspaces, denies, guarded, { disk, isHeld: placeholders.isHeld }),
    deps,
  )
  const release = await placeholders.hold(missing)
  try {
    const system = planRootView(rootDeps(request, workspaces, deps))
    const shown = [
      ...system,
      ...workspaces.map(({ path }) => ({ kind: 'bind' as const, target: path })),
    ]
    const root = [...system, ...planCallerLinks(request.workspaces, shown, disk)]
    const areas: readonly Area[] = [...binds(root), ...workspaces]
    const literals = await inTurns(exactRestrictions(denies, areas, disk), deps)
    const found = [...tree.restricted, ...missing, ...literals]
    const pinned = pinAncestors(found, workspaces)
    const restricted = reduceRestrictions(areas, [...found, ...pinned])
    const warnings = [...tree.warnings, ...warnOfInvalid(tree.invalid)]
    const shared = { rule, walk, warnings, release }
    const repositories = tree.restricted
      .filter(({ level }) => level === 'pinned')
      .map(({ path }) => path)
    const { restrictedLinks: links, invalid, watched } = tree
    const made = new Set(missing.map(({ path }) => path))
    const kept = {
      workspaces,
      areas,
      restricted,
      watched,
      placeholders: made,
      links,
      invalid,
      repositories,
      hidden: tree.hidden,
      walkedMs,
    }
    if (deps.stage !== undefined) {
      const ends = await inTurns(guardedEnds(permitted, walk), deps)
      const staged = await deps.stage(permitted, { restricted, tree, denies, ends })
      const expected = expectBinds(root, staged.masks, deps)
      const mounts = [...root, ...staged.masks, ...staged.mounts]
      const targets = mounts.map(({ target }) => target)
      return {
        ...shared,
        mounts,
        expected: { ...expected, targets, binds: [...expected.binds, ...staged.binds] },
        guarded: { ...kept, absent: staged.absent },
      }
    }
    const opened = planMasks(workspaces, restricted)
    const expected = expectBinds(root, opened, deps)
    return { ...shared, mounts: [...root, ...opened], expected, guarded: kept }
  } catch (error) {
    await release()
    throw error
  }
}

function expectBinds(
  root: readonly Mount[],
  opened: readonly Mount[],
  { disk, objects }: Pick<ViewPlanDeps, 'disk' | 'objects'>,
): ExpectedMounts {
  const checked = new Set(opened.map(({ target }) => target))
  return expectMounts([...root, ...opened], { disk, ...objects, checked })
}

/** Walks the workspaces, and then once more if a denied file has other names. */
async function findRestricted(
  workspaces: readonly Workspace[],
  walk: WalkDeps,
  deps: ViewPlanDeps,
): Promise<RestrictedTree> {
  const others = new Set(workspaces.map(({ path }) => path))
  const trees: WalkedTree[] = []
  for (const workspace of workspaces) {
    const start = { workspace, path: workspace.path, others }
    trees.push(await inTurns(walkWorkspace(start, walk), deps))
  }
  const restricted = trees.flatMap((tree) => tree.restricted)
  const linked = await inTurns(linkedFiles(restricted, walk.denies, walk.disk), deps)
  const links = await inTurns(searchLinks(workspaces, linked, walk.disk), deps)
  const hidden = await inTurns(deps.hidden.find(workspaces, walk.denies), deps)
  return {
    restricted: [...restricted, ...links.restricted, ...hidden],
    hidden: hidden.map(({ path }) => path),
    watched: trees.flatMap(({ watched }) => watched),
    warnings: [
      ...trees.flatMap(({ warnings }) => warnings),
      ...links.warnings,
      ...warnOfHidden(hidden),
    ],
    hiddenLinks: trees.flatMap(({ hiddenLinks }) => hiddenLinks),
    restrictedLinks: trees.flatMap(({ restrictedLinks }) => restrictedLinks),
    unfound: links.warnings,
    invalid: trees.flatMap(({ invalid }) => invalid),
  }
}

function inTurns<T>(steps: Steps<T>, { signal, uptime }: ViewPlanDeps): Promise<T> {
  return runInTurns(steps, signal, uptime)
}

function warnOfInvalid(all: readonly InvalidDirectory[]): readonly string[] {
  const [first] = all
  if (first === undefined) return []
  const path = Buffer.concat([Buffer.from(`${first.directory}/`), first.bytes])
  const rest = all.length === 1 ? '' : ` and ${all.length - 1} more`
  return [
    `${quotePath(path)}${rest} is not UTF-8, so hooks and settings below it are not held; ` +
      'rename it, or use `--strict`',
  ]
}

function warnOfHidden(all: readonly FoundHidden[]): readonly string[] {
  const [first, ...others] = all.filter(({ from }) => from !== null)
  if (first === undefined) return []
  const rest = others.length === 0 ? '' : `, and ${others.length} more are`
  return [
    `${quotePath(first.path)} is hidden${rest}: a rule denied ${quotePath(first.from ?? '')}, ` +
      'from where a command moved it; move it back or out of the workspace',
  ]
}

/** Remembers the denies of the last policy, because most sandboxes start with the same. */
export function createDeniesReader(
  read: (policy: CompiledPolicy) => PathDenies,
): (policy: CompiledPolicy) => PathDenies {
  let last: { readonly policy: CompiledPolicy; readonly denies: PathDenies } | null = null
  return (policy) => {
    if (last?.policy !== policy) last = { policy, denies: read(policy) }
    return last.denies
  }
}

function createWalkDeps(
  denies: PathDenies,
  guarded: PathDenies,
  { active, disk, uptime }: ViewPlanDeps,
): WalkDeps {
  const isOpened = openedByRule(active.decide)
  return { disk, denies, guarded, isOpened, uptime, limits: WALK_LIMITS }
}

function rootDeps(
  { home, privateBytes }: ViewRequest,
  workspaces: readonly Workspace[],
  { active, disk, objects }: ViewPlanDeps,
): Parameters<typeof planRootView>[0] {
  return {
    disk,
    // A system user may lack it; the private one is made inside.
    home: realPathOrNull(disk, home) ?? home,
    systemFiles: objects.systemFiles,
    client: objects.client,
    workspaces: workspaces.map(({ path }) => path),
    isOptAllowed: isTreeGranted(active, 'read', '/opt'),
    privateBytes,
  }
}

function binds(mounts: readonly Mount[]): Area[] {
  return mounts.flatMap((mount) =>
    mount.kind === 'bind' && mount.source === mount.target
      ? [{ path: mount.source, access: mount.access }]
      : [],
  )
}
