import { allowsAllBelow, type FilesystemAction } from '@palisade/policy-core'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'

export type TreeRules = Pick<ActivePolicy, 'decide' | 'enforced'>

/**
 * Whether policy allows an action on a directory and on every path below it, now and later. A view
 * shows a directory as a whole, so a rule for the directory alone does not open it. Denies below
 * the directory are masked and play no part.
 */
export function isTreeGranted(rules: TreeRules, action: FilesystemAction, path: string): boolean {
  return (
    rules.decide({ action, path }).decision === 'allow' && isContentGranted(rules, action, path)
  )
}

/** Whether the content of a directory is granted that is allowed itself. */
export function isContentGranted(
  { enforced }: Pick<TreeRules, 'enforced'>,
  action: FilesystemAction,
  path: string,
): boolean {
  const rule = enforced()
  return rule.kind === 'bundle' && allowsAllBelow(rule.bundle.compiled, { action, path })
}
