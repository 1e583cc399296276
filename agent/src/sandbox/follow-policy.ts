import type { CompiledPolicy, PathDenies } from '@palisade/policy-core'
import type { AgentLog } from '../host/agent-log.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import { grantedBy } from './apply-missed-changes.ts'
import { isSameRule } from '../policy/decision/is-same-rule.ts'
import type { Sandboxes } from './sandboxes.ts'
import type { StartedSandbox } from './start-sandbox.ts'
import { quotePath } from './view/view-refusal.ts'
import type { Workspace } from './view/workspace.ts'

/**
 * Applies each change of policy to the sandboxes that run: new denies are masked, and a sandbox
 * whose workspace is no longer granted ends after a grace time. Returns a way to end it.
 */
export function followPolicy(deps: {
  readonly active: ActivePolicy
  readonly sandboxes: Pick<Sandboxes, 'all'>
  readonly deniesOf: (policy: CompiledPolicy) => PathDenies
  /** Time for a command to save its work once its workspace is no longer granted. */
  readonly graceMs: number
  readonly log: Pick<AgentLog, 'warn'>
  readonly onError: (error: unknown) => void
}): () => void {
  const { active, sandboxes, deniesOf, onError } = deps
  const isGranted = grantedBy(active)
  /** Ends it unless a later change grants the workspace again meanwhile. */
  const endLater = ({ supervision }: StartedSandbox, workspace: Workspace): void => {
    deps.log.warn({ workspace: workspace.path }, 'a workspace of a sandbox is no longer granted')
    setTimeout(() => {
      if (isGranted(workspace)) return
      supervision.end(`policy no longer opens the workspace ${quotePath(workspace.path)}`)
    }, deps.graceMs).unref()
  }

  const apply = async (sandbox: StartedSandbox): Promise<void> => {
    const guard = sandbox.supervision.guard()
    const rule = active.enforced()
    const lost =
      guard === null || rule.kind === 'nothing'
        ? sandbox.plan.guarded.workspaces.filter((workspace) => !isGranted(workspace))
        : await guard.tighten({ denies: deniesOf(rule.bundle.compiled), isGranted })
    for (const workspace of lost) endLater(sandbox, workspace)
  }

  let former = active.enforced()
  return active.subscribe(() => {
    const present = active.enforced()
    if (isSameRule(former, present)) return
    former = present
    for (const sandbox of sandboxes.all()) apply(sandbox).catch(onError)
  })
}
