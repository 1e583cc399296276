import type { CompiledPolicy, PathDenies, Steps } from '@palisade/policy-core'
import type { StagedChange as Shown, StagedResult } from '@palisade/protocol'
import { join } from 'node:path'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { systemErrorCode } from '../../host/errors.ts'
import type { ViewDisk } from '../view/disk.ts'
import { quotePath } from '../view/view-refusal.ts'
import { applyChange, applyPermissions } from './apply-change.ts'
import { ChangeList } from './change-list.ts'
import { HostConflict, openHostTree, type HostTree } from './host-tree.ts'
import { linkRefusal } from './link-refusal.ts'
import { createPathRefusals, type PathRefusals } from './path-refusals.ts'
import type { LayerAttributes } from './layer-attributes.ts'
import { compareEntry, detailOf, type CompareDeps, type StagedChange } from './staged-change.ts'
import { eachEntry, type StagedEntry } from './staged-entry.ts'
import {
  layersOf,
  type StagedLayer,
  type StagedSession,
  type StagedWorkspace,
} from './staged-session.ts'
import { createTakenInodes, type TakenInodes } from './taken-inodes.ts'

export interface ReviewDeps {
  readonly active: Pick<ActivePolicy, 'decide' | 'enforced'>
  readonly deniesOf: (policy: CompiledPolicy) => PathDenies
  readonly disk: ViewDisk
  readonly attributes: LayerAttributes
  /** The user of the agent. */
  readonly uid: number
}

export type Review = Pick<StagedResult, 'changes' | 'counts'>

type Verdict = Pick<Shown, 'verdict' | 'reason'>

/**
 * Compares the staged changes with the host and asks the policy of now for each. With
 * `beforeTemporary` it copies out those that policy grants, one after another, and calls it before
 * a temporary object comes into being.
 *
 * `next` throws `ReviewRefusal` without a policy in force; changes until then stay applied.
 */
export function* review(
  directory: string,
  session: StagedSession,
  deps: ReviewDeps,
  beforeTemporary?: (workspace: number, names: readonly string[]) => void,
): Steps<Review> {
  const list = new ChangeList()
  const taken = createTakenInodes()
  const layers = session.workspaces.map(({ path }, index) => ({
    path,
    upper: layersOf(directory, index).upper,
  }))
  const { guarded = [], workspaces } = session
  const refusals = createPathRefusals({ ...deps, layers, workspaces, guarded })
  for (const [index, workspace] of session.workspaces.entries()) {
    if (workspace.access !== 'rw') continue
    const { upper } = layersOf(directory, index)
    const shared = { deps, refusals, layers, list, session, taken, upper, workspace }
    const before = beforeTemporary === undefined ? null : beforeTemporary.bind(null, index)
    yield* reviewWorkspace({ ...shared, beforeTemporary: before })
  }
  return list.result()
}

interface WorkspaceReview {
  readonly workspace: StagedWorkspace
  readonly upper: string
  readonly session: StagedSession
  readonly refusals: PathRefusals
  readonly layers: readonly StagedLayer[]
  readonly list: ChangeList
  readonly taken: TakenInodes
  readonly deps: ReviewDeps
  /** Null for a review without copying. */
  readonly beforeTemporary: ((names: readonly string[]) => void) | null
}

function* reviewWorkspace(from: WorkspaceReview): Steps<void> {
  const { deps, list, session, upper, workspace } = from
  let host: HostTree
  try {
    host = openHostTree(workspace)
  } catch (error) {
    if (!(error instanceof HostConflict)) throw error
    const whole = { path: workspace.path, kind: 'changed', type: 'directory', size: 0 } as const
    list.add({ ...whole, detail: null, verdict: 'conflict', reason: error.message })
    return
  }
  /** Directories that are not copied out, and so neither are their entries. */
  const blocked = new Map<string, Shown['verdict']>()
  const written: { readonly change: StagedChange; readonly shown: Shown }[] = []
  const compare = { host, startedMs: session.started_ms, taken: from.taken, uid: deps.uid }
  function* visit(entry: StagedEntry): Steps<void> {
    for (const change of yield* compareOrFail(entry, compare, from)) {
      const verdict = yield* settle(change, blocked, from, host)
      const shown = list.add({
        ...describe(change, workspace),
        detail: detailOf(change),
        ...verdict,
      })
      if (change.entry?.kind !== 'directory') continue
      if (verdict.verdict === 'applied') written.push({ change, shown })
      else if (verdict.verdict !== 'allowed' && change.kind !== 'mode')
        blocked.set(change.names.join('/'), verdict.verdict)
    }
  }
  const onInvalid = (names: readonly string[], bytes: Buffer): void => {
    const reason = 'its name is not UTF-8, so no rule can name it'
    const path = join(workspace.path, ...names, quotePath(bytes).slice(1, -1))
    const change = { path, kind: 'created', type: 'file', size: 0, detail: null } as const
    list.add({ ...change, verdict: 'refused', reason })
  }
  try {
    yield* eachEntry(upper, { ...deps, visit, onInvalid })
    for (const { change, shown } of written.toReversed()) {
      const failed = attempt(() => applyPermissions(change, host))
      if (failed !== null) list.change(shown, failed)
    }
  } finally {
    host.close()
  }
}

/** A directory of the host that cannot be read gives the entry a failed change. */
function* compareOrFail(
  entry: StagedEntry,
  compare: CompareDeps,
  { list, workspace }: WorkspaceReview,
): Steps<StagedChange[]> {
  try {
    return yield* compareEntry(entry, compare)
  } catch (error) {
    const type = entry.kind === 'whiteout' ? 'special' : entry.kind
    const change = { kind: 'changed', names: entry.names, size: 0, type } as const
    list.add({ ...describe(change, workspace), detail: null, ...failureOf(error) })
    return []
  }
}

function describe(
  { kind, names, size, type }: Pick<StagedChange, 'kind' | 'names' | 'size' | 'type'>,
  { path }: StagedWorkspace,
): Pick<Shown, 'path' | 'kind' | 'type' | 'size'> {
  return { path: join(path, ...names), kind, type, size }
}

/** Decides on one change, and copies it out if that is wanted. */
function* settle(
  change: StagedChange,
  blocked: ReadonlyMap<string, Shown['verdict']>,
  from: WorkspaceReview,
  host: HostTree,
): Steps<Verdict> {
  const refusal = change.problem ?? policyRefusal(change, from)
  const above = refusal === null ? blockedBy(change, blocked) : null
  if (above !== null) return above
  if (refusal !== null) return { verdict: 'refused', reason: refusal }
  if (change.conflict !== null) return { verdict: 'conflict', reason: change.conflict }
  const { beforeTemporary, session } = from
  if (beforeTemporary === null) return { verdict: 'allowed', reason: null }
  const { deps, taken } = from
  const apply = { host, ...deps, taken, temporary: session.temporary, beforeTemporary }
  const failed = yield* attemptSteps(applyChange(change, apply))
  return failed ?? { verdict: 'applied', reason: null }
}

function blockedBy(
  { names }: StagedChange,
  blocked: ReadonlyMap<string, Shown['verdict']>,
): Verdict | null {
  for (let length = names.length - 1; blocked.size > 0 && length > 0; length -= 1) {
    const above = names.slice(0, length).join('/')
    const verdict = blocked.get(above)
    if (verdict !== undefined)
      return { verdict, reason: `its directory ${quotePath(above)} is not copied out` }
  }
  return null
}

function policyRefusal(
  { entry, names, removed }: StagedChange,
  { deps, refusals, layers, session, workspace }: WorkspaceReview,
): string | null {
  for (const each of [names, ...removed.map((object) => object.names)]) {
    const refusal = refusals.ofChange(workspace, each)
    if (refusal !== null) return refusal
  }
  if (entry === null || entry.target === null) return null
  const { disk } = deps
  const { workspaces } = session
  const path = join(workspace.path, ...names)
  return (
    refusals.ofLinkName(workspace, names) ??
    linkRefusal(path, entry.target, { refusals, disk, workspaces, layers })
  )
}

function attempt(work: () => void): Verdict | null {
  try {
    work()
    return null
  } catch (error) {
    return failureOf(error)
  }
}

function* attemptSteps(steps: Steps<void>): Steps<Verdict | null> {
  try {
    yield* steps
    return null
  } catch (error) {
    return failureOf(error)
  }
}

/** Errors of the system that mean that another object is there. */
const TAKEN: ReadonlySet<string> = new Set(['EEXIST', 'ENOTEMPTY', 'ELOOP', 'ENOTDIR', 'EISDIR'])

function failureOf(error: unknown): Verdict {
  if (error instanceof HostConflict) return { verdict: 'conflict', reason: error.message }
  const code = systemErrorCode(error)
  if (code === null) throw error
  return TAKEN.has(code)
    ? { verdict: 'conflict', reason: `it was changed outside in the meantime (${code})` }
    : { verdict: 'failed', reason: `the system refused (${code})` }
}
