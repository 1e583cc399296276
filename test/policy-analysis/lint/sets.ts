import { lint } from '@palisade/policy-analysis'
import type { PolicySet } from '@palisade/policy-core'
import { policy, rule } from '../../policy-core/policies.ts'

/** Formats each finding as `code rule resource <- rule resource`. */
export function found(set: PolicySet, caseSensitive = true): string[] {
  return lint(set, { caseSensitive }).map(({ code, rules }) => {
    const [fault, ...causes] = rules.map(({ policy_id, rule_id, resource }) =>
      [rule_id || policy_id, resource].filter((part) => part !== undefined).join(' '),
    )
    return [`${code} ${fault}`, ...causes].join(' <- ')
  })
}

export function allow(id: string, ...resources: string[]) {
  return rule(id, 'allow', ['connect:tcp'], ...resources)
}

export function deny(id: string, ...resources: string[]) {
  return rule(id, 'deny', ['connect:tcp'], ...resources)
}

export function of(...rules: ReturnType<typeof rule>[]): PolicySet {
  return { policies: [policy('p', ...rules)] }
}

export const read = ['read'] as const
export const write = ['write'] as const
