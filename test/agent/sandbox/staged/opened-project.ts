import type { PolicyBundle } from '../../../../agent/src/policy/decision/policy-bundle.ts'
import { bundleClaims, policyOf, type RuleLine } from '../../fixture/bundle.ts'

/** Opens the project but for the denied paths. */
export function opened(project: string, ...denies: readonly RuleLine[]): PolicyBundle {
  return bundleClaims({
    policies: [
      policyOf(
        ['allow', 'read', `${project}/**`, project],
        ['allow', 'write', `${project}/**`, project],
        ...denies,
      ),
    ],
  })
}
