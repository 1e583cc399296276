import * as fc from 'fast-check'
import {
  FILESYSTEM_ACTIONS,
  NETWORK_ACTIONS,
  type Action,
  type CompileOptions,
  type Policy,
  type PolicySet,
  type Rule,
} from '@palisade/policy-core'
import { formatAddress } from '../reference/address.ts'
import { addresses, addressPatterns } from './address.ts'
import { namePatterns } from './name.ts'
import { pathPatterns } from './path.ts'

export interface CompiledFrom {
  readonly set: PolicySet
  readonly options: CompileOptions
}

/** Policies of an organization and of the user in every state of precedence. */
export function policySets(): fc.Arbitrary<CompiledFrom> {
  return fc
    .record({
      org: fc.array(rules(), { minLength: 1, maxLength: 3 }),
      local: fc.array(rules(), { maxLength: 1 }),
      governed: fc.constantFrom(undefined, undefined, undefined, true, false),
      home: fc.constantFrom(undefined, '/a', '/a/b', '/a*'),
      machine: fc.array(addresses().map(formatAddress), { maxLength: 2 }),
      unlisted: fc.constantFrom(undefined, false, true),
      revision: fc.constantFrom(undefined, null, 7),
      caseSensitive: fc.constantFrom(undefined, true, false),
    })
    .map(({ org, local, governed, home, machine, unlisted, revision, caseSensitive }) => ({
      set: {
        policies: policies('pol', org),
        local: policies('own', local),
        governed,
        home,
        machine_addresses: machine,
        resolve_unlisted_names: unlisted,
        revision,
      },
      options: { caseSensitive },
    }))
}

/** A policy with one more rule of either domain with `decision`, under an unused id. */
export function extraPolicies(decision: Rule['decision']): fc.Arbitrary<Policy> {
  return rules().map(([first]) => ({
    id: 'pol_extra',
    name: 'extra',
    allowlist_v0: { rules: [{ ...first, id: 'rule_extra', name: 'extra', decision }] },
  }))
}

type RuleBody = Pick<Rule, 'actions' | 'decision' | 'resources'>

/** The rules of one policy, all of one domain. */
function rules(): fc.Arbitrary<[RuleBody, ...RuleBody[]]> {
  return fc.oneof(
    { weight: 3, arbitrary: rulesOf(NETWORK_ACTIONS, networkPatterns()) },
    { weight: 2, arbitrary: rulesOf(FILESYSTEM_ACTIONS, pathPatterns()) },
  )
}

function networkPatterns(): fc.Arbitrary<string> {
  return fc.oneof(namePatterns(), addressPatterns())
}

function rulesOf(
  actions: readonly [Action, ...Action[]],
  resource: fc.Arbitrary<string>,
): fc.Arbitrary<[RuleBody, ...RuleBody[]]> {
  const rule = fc.record({
    // The first action often, because most rules share it.
    actions: fc.oneof(
      fc.constant<readonly Action[]>([actions[0]]),
      fc.subarray<Action>([...actions], { minLength: 1 }),
    ),
    decision: fc.constantFrom('allow', 'allow', 'deny'),
    resources: fc.array(resource, { minLength: 1, maxLength: 3 }),
  })
  return fc.tuple(rule, fc.array(rule, { maxLength: 3 })).map(([first, rest]) => [first, ...rest])
}

function policies(prefix: string, bodies: readonly (readonly RuleBody[])[]): Policy[] {
  return bodies.map((body, index) => ({
    id: `${prefix}_${index}`,
    name: `policy ${index}`,
    allowlist_v0: {
      rules: body.map((rule, place) => ({ id: `rule_${place}`, name: `rule ${place}`, ...rule })),
    },
  }))
}
