import { createDeniedTargets, type DeniedTargets } from '@palisade/client'
import { SANDBOX_HOSTNAME, type SandboxRequest } from '@palisade/protocol'
import { normalize } from 'node:path/posix'
import type { AgentLog } from '../host/agent-log.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import { createAsideList } from './aside/aside-list.ts'
import type { WaitingNames } from './aside/made-names.ts'
import { applyMissedChanges } from './apply-missed-changes.ts'
import { chooseAuthorities } from './choose-authorities.ts'
import { encodeBubblewrapArguments } from './launch/bubblewrap-arguments.ts'
import type { Child } from './launch/await-child.ts'
import type { PreparedLaunch } from './launch/prepare-launch.ts'
import { DESCRIPTORS, trampolineArguments } from './launch/trampoline.ts'
import type { CgroupBases } from './limits/cgroup-bases.ts'
import { guardView } from './guard-view.ts'
import { holdLimits } from './limits/hold-limits.ts'
import { boundsOf } from './limits/sandbox-bounds.ts'
import { encodeSeccompFilter } from './seccomp/seccomp-filter.ts'
import type { Architecture } from './seccomp/system-calls.ts'
import { serveNetwork, type ServedNetworkDeps } from './serve-network.ts'
import type { StagedRun, StagedStore } from './staged/staged-store.ts'
import { supervise, type Supervision } from './supervise.ts'
import { realPathOrNull } from './view/disk.ts'
import { type LiveGuard } from './view/live-guard.ts'
import { isWithin, join, restOf } from './view/mount-table.ts'
import { spellingsOf, warnOfObeyedWorkspaces } from './view/obeyed-paths.ts'
import { warnOfOuterRepository } from './view/outer-repository.ts'
import type { SandboxUser } from './view/system-files.ts'
import { planView, type ViewPlan, type ViewPlanDeps } from './view/view-plan.ts'
import { quotePath, ViewRefusal } from './view/view-refusal.ts'

const SHELL = '/bin/sh'
const OF_WORKSPACE = { point: 'files', protocol: 'mount', client: null } as const

export interface StartDeps extends ServedNetworkDeps {
  readonly view: Omit<ViewPlanDeps, 'signal'>
  readonly user: SandboxUser
  readonly architecture: Architecture
  readonly bases: CgroupBases
  readonly staged: Pick<StagedStore, 'begin'>
  /** Shared by all sandboxes. */
  readonly waiting: WaitingNames
  readonly log: AgentLog
}

/** A sandbox whose command starts when the caller becomes its launch. */
export interface StartedSandbox {
  readonly program: string
  readonly arguments: readonly string[]
  readonly warnings: readonly string[]
  readonly supervision: Supervision
  readonly plan: ViewPlan
}

/**
 * Makes the view and the network of a sandbox and writes its launch. Rejects with `ViewRefusal` for
 * a view that policy does not open; then the caller discards the launch.
 */
export async function startSandbox(
  request: SandboxRequest,
  launch: PreparedLaunch,
  deps: StartDeps,
): Promise<StartedSandbox> {
  const { user, log } = deps
  const bounds = boundsOf(request.limits)
  const guarded = spellingsOf(request.guarded ?? [], deps.view.disk)
  const staged =
    request.strict === undefined
      ? null
      : await deps.staged.begin(launch.id, launch.holder.pid, guarded)
  const stage = staged === null ? {} : { stage: staged.stage }
  // Before the walk, or a name that goes away meanwhile would count as there.
  const awaited = new Set(deps.waiting.keys())
  const plan = await planView(
    {
      workspaces: request.workspaces,
      home: user.home,
      privateBytes: bounds.privateBytes,
      guarded,
    },
    {
      ...deps.view,
      ...stage,
      onDecision: (decision) =>
        deps.network.onEvent({ ...OF_WORKSPACE, sandbox: launch.id, decision }),
      signal: new AbortController().signal,
    },
  ).catch(async (error: unknown) => {
    await staged?.end()
    throw error
  })
  try {
    const cwd = requireInWorkspace(request.directory, plan, deps.view)
    const limits = await holdLimits({ asked: request.limits, bounds }, launch, {
      bases: deps.bases,
      uid: user.uid,
    })
    const authorities = chooseAuthorities(request.authorities, plan.guarded, {
      ...deps.view,
      home: user.home,
    })
    const variables = new Map([...authorities.variables, ...Object.entries(request.variables)])
    await writeLaunch(encodeArguments(variables, plan, cwd, deps), launch, deps)
    const denied = createDeniedTargets()
    const network = await serveNetwork(request.publish ?? [], launch, noteDenied(deps, denied))
    const { disk, active } = deps.view
    const aside = createAsideList({ ...deps.network, sandbox: launch.id, decide: active.decide })
    const createGuard = (child: Child, end: (problem: string) => void): LiveGuard =>
      guardView(plan, launch, {
        child,
        end,
        onAside: aside.add,
        waiting: deps.waiting,
        awaited,
        hidden: deps.view.hidden,
        entries: bounds.privateEntries,
      })
    const followed = (guard: LiveGuard): Promise<void> =>
      applyMissedChanges(guard, plan.rule, deps.view)
    const shared = { launch, plan, network, disk, createGuard, log }
    const describeEnd = (): readonly string[] => [
      ...aside.describe(),
      ...denied.lines(supportMessage(active)),
    ]
    const supervision = supervise({ ...shared, applyMissedChanges: followed, describeEnd })
    if (staged !== null) followStaged(staged, supervision, launch, log)
    return {
      program: SHELL,
      arguments: trampolineArguments({
        directory: launch.directory.path,
        holder: launch.holder.pid,
        programs: deps.programs,
        limits,
        after: request.strict === undefined ? [] : [...request.strict.after, launch.id],
      }),
      warnings: [
        ...plan.warnings,
        ...authorities.warnings,
        ...warnOfObeyedWorkspaces(guarded, plan.guarded.workspaces),
        ...warnOfOuterRepository(cwd, plan.guarded, deps.view.disk),
      ],
      supervision,
      plan,
    }
  } catch (error) {
    await plan.release()
    await staged?.end()
    throw error
  }
}

function noteDenied(deps: StartDeps, denied: DeniedTargets): StartDeps {
  const { network } = deps
  const onEvent: typeof network.onEvent = (event) => {
    denied.add(event.decision)
    network.onEvent(event)
  }
  return { ...deps, network: { ...network, onEvent } }
}

/** The text of the organization whose policies are in force. */
function supportMessage({ enforced }: Pick<ActivePolicy, 'enforced'>): string | undefined {
  const rule = enforced()
  return rule.kind === 'nothing' ? undefined : rule.bundle.bundle.settings.support_message
}

/** Keeps the changes of the command once no process of the sandbox can make more. */
function followStaged(
  staged: StagedRun,
  { end, ended }: Supervision,
  { holder }: PreparedLaunch,
  log: AgentLog,
): void {
  const stopWatching = staged.watchSpace(end)
  void Promise.all([ended, holder.ended])
    .then(stopWatching)
    .then(() => staged.end())
    .catch((err: unknown) => log.warn({ err }, 'the changes of a sandbox were not put in order'))
}

/**
 * The path of the directory in which the command starts: the one that the caller used where a link
 * of the view leads there, and otherwise the real one.
 */
function requireInWorkspace(
  directory: string,
  { guarded, mounts }: ViewPlan,
  { disk }: Pick<ViewPlanDeps, 'disk'>,
): string {
  const real = realPathOrNull(disk, directory)
  if (real === null)
    throw new ViewRefusal(`the working directory ${quotePath(directory)} does not exist`)
  if (guarded.workspaces.some(({ path }) => isWithin(real, path))) {
    const asked = normalize(directory)
    const isShown = mounts.some(
      (mount) =>
        mount.kind === 'symlink' &&
        isWithin(asked, mount.target) &&
        join(mount.to, restOf(asked, mount.target)) === real,
    )
    return isShown ? asked : real
  }
  const [first] = guarded.workspaces
  throw new ViewRefusal(
    `the working directory ${quotePath(real)} is in no workspace; change to one, such as ` +
      quotePath(first?.path ?? '/'),
  )
}

function encodeArguments(
  variables: ReadonlyMap<string, string>,
  { mounts }: ViewPlan,
  cwd: string,
  { user, view }: StartDeps,
): Buffer {
  return encodeBubblewrapArguments({
    uid: user.uid,
    gid: user.gid,
    hostname: SANDBOX_HOSTNAME,
    mounts,
    cwd,
    variables,
    ...view.objects,
    seccompFd: DESCRIPTORS.seccomp,
    gateFd: DESCRIPTORS.gate,
    infoFd: DESCRIPTORS.info,
  })
}

async function writeLaunch(
  words: Buffer,
  { directory }: PreparedLaunch,
  { architecture }: StartDeps,
): Promise<void> {
  await directory.write('arguments', words)
  const filter = encodeSeccompFilter(architecture)
  await directory.write('seccomp', filter)
}
