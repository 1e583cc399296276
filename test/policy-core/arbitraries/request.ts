import * as fc from 'fast-check'
import {
  FILESYSTEM_ACTIONS,
  isFilesystemAction,
  NETWORK_ACTIONS,
  type Action,
  type Grant,
  type PolicySet,
  type Rule,
} from '@palisade/policy-core'
import { readNetworkPattern } from '../reference/network-pattern.ts'
import { connectChoice, connectFrom, type ConnectChoice } from './connect-request.ts'
import { hostileRequest } from './hostile.ts'
import { pathChoice, pathFrom, type PathChoice } from './path-request.ts'

/** The target rule of a request and how it misses. Plain data, so that it shrinks. */
export interface RequestChoice {
  readonly rule: number
  readonly resource: number
  readonly hasOtherAction: boolean
  readonly connect: ConnectChoice
  readonly path: PathChoice
}

/** A choice for a request derived from a rule, or sometimes a hostile value. */
export function requestChoice(): fc.Arbitrary<RequestChoice | { readonly hostile: unknown }> {
  return fc.oneof(
    {
      weight: 24,
      arbitrary: fc.record({
        rule: fc.nat(15),
        resource: fc.nat(2),
        hasOtherAction: fc.constantFrom(false, false, false, false, false, true),
        connect: connectChoice(),
        path: pathChoice(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ hostile: hostileRequest() }) },
  )
}

/** Derives the request from a rule in `set`. */
export function requestFrom(
  set: PolicySet,
  choice: RequestChoice | { readonly hostile: unknown },
): unknown {
  if ('hostile' in choice) return choice.hostile
  const ofPolicies = [...(set.policies ?? []), ...(set.local ?? [])].flatMap(
    (policy) => policy.allowlist_v0?.rules ?? [],
  )
  const rules = [...(set.grants ?? []).map(targetOf), ...ofPolicies]
  const rule = rules[choice.rule % Math.max(rules.length, 1)]
  if (rule === undefined) return null
  const resource = rule.resources[choice.resource % rule.resources.length] ?? ''
  const action = choice.hasOtherAction ? otherAction(rule) : rule.actions[0]
  if (isFilesystemAction(action)) {
    return { action, path: pathFrom(resource, set.home, choice.path) }
  }
  const pattern = readNetworkPattern(resource)
  return pattern && { action, ...connectFrom(pattern, choice.connect) }
}

/** Several requests for one policy set, to share its compilation. */
export function requestChoices(count: number) {
  return fc.array(requestChoice(), { minLength: count, maxLength: count })
}

function targetOf({ action, resources }: Grant): Pick<Rule, 'actions' | 'resources'> {
  return { actions: [action], resources }
}

/** The next action of the same list. */
function otherAction({ actions: [action] }: Pick<Rule, 'actions'>): Action | undefined {
  const list: readonly Action[] = isFilesystemAction(action) ? FILESYSTEM_ACTIONS : NETWORK_ACTIONS
  return action && list[(list.indexOf(action) + 1) % list.length]
}
