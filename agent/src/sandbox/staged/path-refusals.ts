import { isHiddenAside } from '../aside/set-aside.ts'
import type {
  CompiledPolicy,
  Decision,
  DenyPlace,
  FilesystemAction,
  PathDenies,
} from '@palisade/policy-core'
import { basename, dirname } from 'node:path'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { guardedPaths, isAboveGuarded, openedByRule, SETTINGS } from '../view/guarded-names.ts'
import { actionsOf } from '../view/path-restriction.ts'
import { COMMON_DIRECTORY, REPOSITORY } from '../view/repository.ts'
import type { ViewDisk } from '../view/disk.ts'
import { isWithin, join } from '../view/mount-table.ts'
import { quotePath } from '../view/view-refusal.ts'
import { createRepositoryGuard } from './repository-guard.ts'
import { ReviewRefusal } from './staged-entry.ts'
import type { StagedLayer, StagedWorkspace } from './staged-session.ts'

/** Asks the policy of now whether paths may be changed, or be the end of a symbolic link. */
export interface PathRefusals {
  /** Why policy keeps a path of the workspace as it is; null when it may be changed. */
  ofChange(workspace: StagedWorkspace, names: readonly string[]): string | null
  /** Why no link may have a path of the workspace; null when one may. */
  ofLinkName(workspace: StagedWorkspace, names: readonly string[]): string | null
  /** Why a link must not lead to a canonical path; null when it may. */
  ofTarget(path: string): string | null
}

export interface PathRefusalDeps {
  /** The disk of the host. */
  readonly disk: Pick<ViewDisk, 'list' | 'status'>
  readonly active: Pick<ActivePolicy, 'decide' | 'enforced'>
  readonly deniesOf: (policy: CompiledPolicy) => PathDenies
  readonly workspaces: readonly StagedWorkspace[]
  readonly layers: readonly StagedLayer[]
  /** Paths that are guarded beside the guarded names. */
  readonly guarded: readonly string[]
}

/** Directories of the system that every sandbox sees, unless a rule denies them. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** The actions that a view takes from a path by making it read-only. */
const CHANGES = actionsOf('rw').filter((action) => !actionsOf('ro').includes(action))

export function createPathRefusals(deps: PathRefusalDeps): PathRefusals {
  const { active, deniesOf, disk, layers, workspaces } = deps
  const guarded = guardedPaths(deps.guarded)
  const repositories = createRepositoryGuard(disk, layers)
  /** Throws `ReviewRefusal` without a policy in force. */
  const denies = (): PathDenies => {
    const rule = active.enforced()
    if (rule.kind === 'nothing')
      throw new ReviewRefusal(`no policy is in force (${rule.reason}), so nothing is copied out`)
    return deniesOf(rule.bundle.compiled)
  }
  const isOpened = openedByRule(active.decide)
  /** The root, or the first name on the way from there to the path, that a rule denies. */
  const denied = (
    root: string,
    names: readonly string[],
    actions: readonly FilesystemAction[],
  ): string | null => {
    const rules = denies()
    let at: DenyPlace = rules.at(root)
    let path = root
    for (const name of [null, ...names]) {
      if (name !== null) {
        at = rules.below(at, name)
        path = join(path, `/${name}`)
      }
      const action = actions.find((each) => at.denies[each])
      if (action !== undefined) return describe(active.decide({ action, path }), action, path)
    }
    return null
  }
  const guardedBy = (root: string, names: readonly string[]): string | null => {
    let at = guarded.at(root)
    let path = root
    for (const name of names) {
      // Below `.git` the settings are guarded by their names, so that a clone can be copied out.
      const hasSettings = guarded.below(at, SETTINGS).denies.write
      at = guarded.below(at, name)
      path = join(path, `/${name}`)
      if (!hasSettings && repositories.completes(path) && !isOpened(path))
        return `${quotePath(path)} makes a repository, whose settings git obeys`
      const isLead = name === COMMON_DIRECTORY && names.includes(REPOSITORY)
      const isGuarded = at.denies.write || isLead || repositories.isPart(path)
      if (isGuarded && !isOpened(path))
        return `${quotePath(path)} is a guarded name, which other programs obey`
    }
    return repositories.isWhole(path) && !isOpened(path)
      ? `${quotePath(path)} is a repository, or leads git to one`
      : null
  }

  return {
    ofChange({ path: root, aliases }, names) {
      for (const other of [root, ...aliases]) {
        const refusal = denied(other, names, actionsOf('rw'))
        if (refusal !== null) return refusal
      }
      const path = join(root, `/${names.join('/')}`)
      if (names.some(isHiddenAside))
        return `${quotePath(path)} was kept aside, and a rule denies to read it`
      for (const action of CHANGES) {
        const made = active.decide({ action, path })
        if (made.decision !== 'allow') return describe(made, action, path)
      }
      return guardedBy(root, names)
    },
    ofLinkName({ path: root }, names) {
      const path = join(root, `/${names.join('/')}`)
      const above = guarded.at(dirname(path))
      if (!isAboveGuarded(guarded, above, basename(path)) || isOpened(path)) return null
      return `${quotePath(path)} is a link in place of a directory with guarded names`
    },
    ofTarget(path) {
      const refusal = denied('/', path.split('/').slice(1), actionsOf('ro'))
      if (refusal !== null) return refusal
      const made = active.decide({ action: 'read', path })
      if (made.decision === 'allow') return null
      const isSeen = [...SYSTEM, ...workspaces.map((each) => each.path)].some((seen) =>
        isWithin(path, seen),
      )
      return made.reason === 'default_deny' && isSeen ? null : describe(made, 'read', path)
    },
  }
}

function describe(
  { reason, rules }: Pick<Decision, 'reason' | 'rules'>,
  action: FilesystemAction,
  path: string,
): string {
  const [rule] = rules
  if (rule !== undefined)
    return (
      `the rule \`${rule.rule_name}\` of the policy \`${rule.policy_name}\` denies \`${action}\` ` +
      `on ${quotePath(path)}`
    )
  return reason === 'default_deny'
    ? `no rule allows \`${action}\` on ${quotePath(path)}`
    : `policy denies \`${action}\` on ${quotePath(path)} (${reason})`
}
