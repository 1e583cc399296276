import type { CompiledPolicy, PathDenies, Steps } from '@palisade/policy-core'
import type { ActivePolicy } from '../../decision/active-policy.ts'
import { runInTurns } from '../../decision/run-in-turns.ts'
import { planCallerLinks } from './caller-links.ts'
import { expectMounts, type ExpectedBind, type ExpectedMounts } from './compare-mounts.ts'
import { realPathOrNull, type ViewDisk } from './disk.ts'
import type { WalkDeps } from './findings.ts'
import { isTreeGranted } from './granted-tree.ts'
import { guardedPaths, openedByRule } from './guarded-names.ts'
import type { HeldPath } from './held-path.ts'
import { linkedFiles, searchLinks } from './hard-links.ts'
import { literalHolds } from './literal-holds.ts'
import type { GuardedView } from './guarded-view.ts'
import { planMasks, reduceHolds, type Area } from './masks.ts'
import type { Mount } from './mount.ts'
import { pinAncestors } from './pin-ancestors.ts'
import { planPlaceholders } from './placeholder-plan.ts'
import type { Placeholders } from './placeholders.ts'
import { partsOfRepositories } from './repository-parts.ts'
import { planRootView } from './root-view.ts'
import type { ViewObjects } from './view-objects.ts'
import { ViewRefusal } from './view-refusal.ts'
import { WALK_LIMITS, walkWorkspace, type WalkedTree } from './walk.ts'
import {
  judgeWorkspaces,
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
}

export interface ViewPlanDeps {
  readonly active: Pick<ActivePolicy, 'decide' | 'enforced'>
  readonly disk: ViewDisk
  readonly objects: ViewObjects
  readonly placeholders: Placeholders
  readonly deniesOf: (policy: CompiledPolicy) => PathDenies
  /** The agent's data, state and runtime directories and its socket. */
  readonly privatePaths: readonly string[]
  /** Monotonic, and wall time, in milliseconds. */
  readonly uptime: () => number
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onJudged?: WorkspaceDeps['onJudged']
  /** For a strict sandbox: mounts the workspaces so that changes of the command are kept apart. */
  readonly stage?: StageView
}

/** Makes the overlays of a strict sandbox. Rejects with `ViewRefusal`. */
export type StageView = (
  workspaces: readonly Workspace[],
  found: {
    readonly held: readonly HeldPath[]
    readonly tree: Pick<HeldTree, 'hiddenLinks' | 'unfound'>
    readonly denies: PathDenies
  },
) => Promise<{
  /** Binds of the overlays, and masks beside the workspaces. */
  readonly mounts: readonly Mount[]
  readonly masks: readonly Mount[]
  readonly binds: readonly ExpectedBind[]
  /** Paths whose names the overlays hide, with all below them. */
  readonly absent: ReadonlySet<string>
}>

/** The findings in all workspaces. */
export interface HeldTree extends Omit<WalkedTree, 'entries'> {
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
  const judged = judgeWorkspaces(request.workspaces, { ...deps, ...request })
  const workspaces = deps.stage === undefined ? judged : judged.map(asStaged)
  const walk = createWalkDeps(denies, deps)
  const tree = await findHeld(workspaces, walk, deps)
  const guarded = partsOfRepositories(tree.held, walk)
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
    const literals = await inTurns(literalHolds(denies, areas, disk), deps)
    const found = [...tree.held, ...missing, ...literals]
    const pinned = pinAncestors(found, workspaces, denies)
    const held = reduceHolds(areas, [...found, ...pinned])
    const shared = { rule, walk, warnings: tree.warnings, release }
    const repositories = tree.held.filter(({ hold }) => hold === 'pinned').map(({ path }) => path)
    const { heldLinks: links, watched } = tree
    const kept = { workspaces, areas, held, watched, links, repositories, walkedMs }
    if (deps.stage !== undefined) {
      const staged = await deps.stage(judged, { held, tree, denies })
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
    const opened = planMasks(workspaces, held)
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
  const judged = new Set(opened.map(({ target }) => target))
  return expectMounts([...root, ...opened], { disk, ...objects, judged })
}

/** Walks the workspaces, and then once more if a denied file has other names. */
async function findHeld(
  workspaces: readonly Workspace[],
  walk: WalkDeps,
  deps: ViewPlanDeps,
): Promise<HeldTree> {
  const others = new Set(workspaces.map(({ path }) => path))
  const trees: WalkedTree[] = []
  for (const workspace of workspaces) {
    const start = { workspace, path: workspace.path, others }
    trees.push(await inTurns(walkWorkspace(start, walk), deps))
  }
  const held = trees.flatMap((tree) => tree.held)
  const linked = await inTurns(linkedFiles(held, walk.denies, walk.disk), deps)
  const links = await inTurns(searchLinks(workspaces, linked, walk.disk), deps)
  return {
    held: [...held, ...links.held],
    watched: trees.flatMap(({ watched }) => watched),
    warnings: [...trees.flatMap(({ warnings }) => warnings), ...links.warnings],
    hiddenLinks: trees.flatMap(({ hiddenLinks }) => hiddenLinks),
    heldLinks: trees.flatMap(({ heldLinks }) => heldLinks),
    unfound: links.warnings,
  }
}

function inTurns<T>(steps: Steps<T>, { signal, uptime }: ViewPlanDeps): Promise<T> {
  return runInTurns(steps, signal, uptime)
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

function createWalkDeps(denies: PathDenies, { active, disk, uptime }: ViewPlanDeps): WalkDeps {
  const isOpened = openedByRule(active.decide)
  return { disk, denies, guarded: guardedPaths(), isOpened, uptime, limits: WALK_LIMITS }
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
