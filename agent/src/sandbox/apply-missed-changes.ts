import type { CompiledPolicy, PathDenies } from '@palisade/policy-core'
import type { ActivePolicy, Enforced } from '../policy/decision/active-policy.ts'
import { isSameRule } from '../policy/decision/is-same-rule.ts'
import { isTreeGranted } from './view/granted-tree.ts'
import { actionsOf } from './view/path-restriction.ts'
import type { LiveGuard } from './view/live-guard.ts'
import { quotePath, ViewRefusal } from './view/view-refusal.ts'
import type { Workspace } from './view/workspace.ts'

/**
 * Applies the changes since the view was planned, which found no guard. Call it before the command
 * starts. Rejects with `ViewRefusal` when the policy of now does not open the view.
 */
export async function applyMissedChanges(
  guard: Pick<LiveGuard, 'tighten'>,
  planned: Enforced,
  deps: {
    readonly active: Pick<ActivePolicy, 'decide' | 'enforced'>
    readonly deniesOf: (policy: CompiledPolicy) => PathDenies
  },
): Promise<void> {
  for (let known = planned; !isSameRule(known, deps.active.enforced());) {
    known = deps.active.enforced()
    if (known.kind === 'nothing')
      throw new ViewRefusal(`no policy is in force (${known.reason}), so no sandbox can start`)
    const denies = deps.deniesOf(known.bundle.compiled)
    const [lost] = await guard.tighten({ denies, isGranted: grantedBy(deps.active) })
    if (lost !== undefined)
      throw new ViewRefusal(`policy no longer opens the workspace ${quotePath(lost.path)}`)
  }
}

/** Whether policy still opens a workspace with its access. */
export function grantedBy(
  active: Pick<ActivePolicy, 'decide' | 'enforced'>,
): (workspace: Workspace) => boolean {
  return ({ path, access, isStaged }) =>
    actionsOf(isStaged === true ? 'rw' : access).every((action) =>
      isTreeGranted(active, action, path),
    )
}
